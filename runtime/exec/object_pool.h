// A few objects kept for reuse, handed out without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace tessera {

// Keeps up to kPlaces idle objects. A thread takes first what it gave last, so that an object stays
// in its core's cache; places of different threads lie on different cache lines.
// Thread-safe, lock-free.
template <typename T>
class ObjectPool {
 public:
  ObjectPool() = default;
  ~ObjectPool() {
    for (Place& place : places_) delete place.object.load(std::memory_order_acquire);
  }
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  // Null if none is idle.
  std::unique_ptr<T> Take() {
    const size_t first = PlaceOfThread();
    for (size_t i = 0; i < kPlaces; ++i) {
      std::atomic<T*>& place = places_[(first + i) % kPlaces].object;
      // Most places of a quiet pool are empty: look before paying for an exchange.
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* object = place.exchange(nullptr, std::memory_order_acquire)) {
        return std::unique_ptr<T>(object);
      }
    }
    return nullptr;
  }

  // Deletes the object if all places are taken.
  void Give(std::unique_ptr<T> object) {
    const size_t first = PlaceOfThread();
    for (size_t i = 0; i < kPlaces; ++i) {
      std::atomic<T*>& place = places_[(first + i) % kPlaces].object;
      T* empty = nullptr;
      if (place.load(std::memory_order_relaxed) == nullptr &&
          place.compare_exchange_strong(empty, object.get(), std::memory_order_release,
                                        std::memory_order_relaxed)) {
        object.release();
        return;
      }
    }
  }

 private:
  static constexpr size_t kPlaces = 16;
  struct alignas(64) Place {
    std::atomic<T*> object{nullptr};
  };

  static size_t PlaceOfThread() {
    static std::atomic<size_t> next{0};
    thread_local const size_t place = next.fetch_add(1, std::memory_order_relaxed) % kPlaces;
    return place;
  }

  std::array<Place, kPlaces> places_;
};

}  // namespace tessera
