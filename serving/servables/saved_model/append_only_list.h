// AppendOnlyList: a list that readers walk without locks, because it only grows.
#pragma once

#include <atomic>
#include <utility>

namespace tessera::serving {

// For small caches whose entries live as long as their owner. Find() and ForEach() are thread-safe
// beside all other calls. The owner must serialise calls of Add().
template <typename T>
class AppendOnlyList {
 public:
  AppendOnlyList() = default;
  ~AppendOnlyList() {
    for (Node* node = head_.load(); node != nullptr;) delete std::exchange(node, node->next);
  }
  AppendOnlyList(const AppendOnlyList&) = delete;
  AppendOnlyList& operator=(const AppendOnlyList&) = delete;

  // Returns the latest entry for which `matches` returns true; null if there is none.
  template <typename Predicate>
  const T* Find(Predicate&& matches) const {
    for (const Node* node = head_.load(std::memory_order_acquire); node; node = node->next) {
      if (matches(node->value)) return &node->value;
    }
    return nullptr;
  }

  // Visits all entries, latest first.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    Find([&](const T& value) {
      visit(value);
      return false;
    });
  }

  const T* Add(T value) {
    Node* node = new Node{std::move(value), head_.load(std::memory_order_relaxed)};
    head_.store(node, std::memory_order_release);
    ++size_;
    return &node->value;
  }
  // Must be called under the lock that serialises Add().
  int size() const { return size_; }

 private:
  struct Node {
    T value;
    Node* next;
  };
  std::atomic<Node*> head_{nullptr};
  int size_ = 0;
};

}  // namespace tessera::serving
