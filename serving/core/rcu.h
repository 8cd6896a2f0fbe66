// RcuPointer: a pointer to immutable data that readers follow without locks or shared writes.
//
//   RcuPointer<Map> map;
//   map.Publish(std::make_unique<Map>(...));                       // one writer at a time
//   Version* v = map.Read([&](const Map* m) { return m ? m->Find(name) : nullptr; });
//
// This is read-copy-update. A reader marks the slot of its own thread while it reads. A writer
// swaps the pointer, waits until every slot that was marked at that moment has been released at
// least once, and frees the old data. See P. McKenney, "Is Parallel Programming Hard", chapter 9.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace tessera::serving {

namespace rcu {

// The mark of a thread; `sections` is odd while the thread reads. A thread has one slot for all
// RcuPointers, so the set of slots belongs to the process.
struct alignas(64) ReaderSlot {
  std::atomic<uint64_t> sections{0};
  int depth = 0;  // how many reads are nested now; used by the thread alone
};

// Returns the calling thread's slot, which is registered at its first use.
ReaderSlot& ThreadSlot();
// True if the kernel's membarrier() makes plain stores of readers enough. Set before the first slot
// is handed out.
extern std::atomic<bool> readers_need_no_fence;
// Returns when all reads that were under way have ended. Must not be called during a read.
void Synchronize();

class ReadSection {
 public:
  ReadSection() : slot_(ThreadSlot()) {
    if (slot_.depth++ > 0) return;
    const uint64_t odd = slot_.sections.load(std::memory_order_relaxed) + 1;
    if (readers_need_no_fence.load(std::memory_order_relaxed)) {
      slot_.sections.store(odd, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      slot_.sections.exchange(odd, std::memory_order_seq_cst);
    }
  }
  ~ReadSection() {
    if (--slot_.depth > 0) return;
    slot_.sections.store(slot_.sections.load(std::memory_order_relaxed) + 1,
                         std::memory_order_release);
  }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

 private:
  ReaderSlot& slot_;
};

}  // namespace rcu

// Thread-safe, except that the owner must serialise calls of Publish().
template <typename T>
class RcuPointer {
 public:
  RcuPointer() = default;
  // Requires that no reader is left.
  ~RcuPointer() { delete data_.load(std::memory_order_relaxed); }
  RcuPointer(const RcuPointer&) = delete;
  RcuPointer& operator=(const RcuPointer&) = delete;

  // Returns what `read` returns for the current data, which is null before the first Publish(). The
  // data is valid during `read` alone. `read` must be short and must not wait for a writer.
  template <typename F>
  auto Read(F&& read) const {
    rcu::ReadSection section;
    return std::forward<F>(read)(data_.load(std::memory_order_seq_cst));
  }

  // Makes `data` the current data, waits for the readers of the old data, and frees that.
  void Publish(std::unique_ptr<const T> data) {
    const T* old = data_.exchange(data.release(), std::memory_order_seq_cst);
    rcu::Synchronize();
    delete old;
  }

 private:
  std::atomic<const T*> data_{nullptr};
};

}  // namespace tessera::serving
