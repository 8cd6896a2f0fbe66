// The allocator for packed weights: blocks lie side by side in huge pages, because the matrix of a
// small layer does not fill one, nor the last part of a large matrix its last one. Where huge pages
// are slow to get, blocks have small ones first and are moved afterwards.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/large_blocks.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // of Linux 6.1
#endif

namespace tessera {
namespace {

constexpr size_t kPage = size_t{1} << 12;

size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// Returns true if a huge page at `page` shares memory with a block.
bool SharesMemory(const char* page, const char* block, size_t size) {
  return page < block + size && block < page + kHugePage;
}

// Moves small pages that fill a huge one into it, in the background.
//
// The kernel copies under a lock that readers of the page wait for. That takes less than a
// millisecond, unless the host of a virtual machine has to find the memory first. So a huge page is
// touched and given back before: the kernel then takes it again for the copy.
class PageMover {
 public:
  // [page, page + kHugePage) is to be moved once its contents are written.
  void Add(char* page) {
    absl::MutexLock lock(&mu_);
    if (!running_) {
      running_ = true;
      std::thread([this] { Run(); }).detach();
    }
    pages_.push_back(page);
    last_added_ = absl::Now();
  }

  // Forgets the pages that share memory with [begin, begin + size).
  void Remove(const char* begin, size_t size) {
    absl::MutexLock lock(&mu_);
    std::erase_if(
        pages_, [&](const char* page) { return page < begin + size && begin < page + kHugePage; });
  }

 private:
  // Weights are written, and mostly the model warm, so long after their memory was allocated.
  static constexpr absl::Duration kDelay = absl::Seconds(1);
  // The pause after each page is so many times as long as moving it took, which holds a core up
  // while the host finds the memory. It is longer on a busy machine.
  static constexpr int kPauses = 10;
  static constexpr absl::Duration kMinPause = absl::Milliseconds(20), kMaxPause = absl::Seconds(1);

  bool HasPages() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !pages_.empty(); }

  // Body of the thread. It sleeps while there are no pages. Its priority is a normal one: a thread
  // that seldom runs would hold the kernel's lock for long.
  void Run() {
    pthread_setname_np(pthread_self(), "page_mover");
    while (true) {
      absl::Duration wait;
      {
        absl::MutexLock lock(&mu_);
        mu_.Await(absl::Condition(this, &PageMover::HasPages));
        wait = last_added_ + kDelay - absl::Now();
      }
      if (wait > absl::ZeroDuration()) {
        absl::SleepFor(std::min(wait, kDelay));  // bounded, because the clock may be changed
        continue;
      }
      const absl::Time start = absl::Now();
      PrepareHugePage();
      MoveOne();
      absl::SleepFor(std::clamp(kPauses * (absl::Now() - start), kMinPause, kMaxPause));
    }
  }

  static void PrepareHugePage() {
    void* const page = MapAtHugePage(kHugePage);
    if (page == nullptr) return;
    ::madvise(page, kHugePage, MADV_HUGEPAGE);
    *static_cast<volatile char*>(page) = 0;
    ::munmap(page, kHugePage);
  }

  // Under the lock, so that nobody gives the page back meanwhile.
  void MoveOne() {
    absl::MutexLock lock(&mu_);
    if (pages_.empty()) return;
    char* const page = pages_.front();
    pages_.pop_front();
    ::madvise(page, kHugePage, MADV_COLLAPSE);  // small ones do where the kernel has no huge ones
  }

  absl::Mutex mu_;
  std::deque<char*> pages_ ABSL_GUARDED_BY(mu_);
  absl::Time last_added_ ABSL_GUARDED_BY(mu_);
  bool running_ ABSL_GUARDED_BY(mu_) = false;
};

// Returns true if the page at `address` has memory.
bool IsResident(char* address) {
  unsigned char state = 0;
  return ::mincore(address, kPage, &state) == 0 && (state & 1) != 0;
}

// Whole pages for blocks that are kept long. Memory that is given back is not handed out again;
// what a huge page holds beside a block that has gone stays in place.
class WeightPages {
 public:
  // Returns null for a small block, and if memory runs out.
  char* Allocate(size_t size) {
    if (size < kMinBlock || size > SIZE_MAX / 2) return nullptr;
    Fresh fresh;
    char* const block = Take(RoundUp(size, kPage), &fresh);
    // Outside the lock, because the first huge page may take a while.
    if (fresh.size > 0) AskForHugePages(fresh.begin, fresh.size, &trials_);
    MoveLater(fresh);
    return block;
  }

  void Free(char* block, size_t size) {
    {
      absl::MutexLock lock(&mu_);
      std::erase_if(small_, [&](const char* page) { return SharesMemory(page, block, size); });
    }
    mover_.Remove(block, size);
    DropPages(block, size);  // in slices, which hold nobody up
    ::munmap(block, size);
  }

 private:
  // Smaller blocks come from the heap.
  static constexpr size_t kMinBlock = size_t{1} << 16;
  // Blocks below this size come from the heap if a new huge page would have to begin for them, of
  // which they would fill little.
  static constexpr size_t kMinFirstBlock = size_t{1} << 19;
  // The address space that is reserved at a time.
  static constexpr size_t kReserved = size_t{1} << 26;

  // Huge pages that a block is the first one to use.
  struct Fresh {
    char* begin = nullptr;
    size_t size = 0;
  };

  char* Take(size_t size, Fresh* fresh) {
    absl::MutexLock lock(&mu_);
    if (size < kMinFirstBlock && static_cast<size_t>(asked_ - next_) < size) return nullptr;
    if (static_cast<size_t>(end_ - next_) < size) {
      const size_t reserved = RoundUp(std::max(size, kReserved), kHugePage);
      char* const map = static_cast<char*>(MapAtHugePage(reserved));
      if (map == nullptr) return nullptr;
      if (end_ > next_) ::munmap(next_, static_cast<size_t>(end_ - next_));
      begin_ = next_ = asked_ = map;
      end_ = map + reserved;
      small_.clear();
    }
    char* const block = next_;
    next_ += size;
    if (next_ > asked_) {
      *fresh = {asked_, RoundUp(static_cast<size_t>(next_ - asked_), kHugePage)};
      asked_ += fresh->size;
    }
    return block;
  }

  // Has pages moved that no huge ones were asked for, as soon as blocks fill them.
  void MoveLater(Fresh fresh) {
    absl::MutexLock lock(&mu_);
    // The first huge page is touched by asking for it.
    const bool is_here = fresh.begin >= begin_ && fresh.begin < end_;
    if (fresh.size > 0 && is_here && !IsResident(fresh.begin)) {
      for (size_t at = 0; at < fresh.size; at += kHugePage) small_.push_back(fresh.begin + at);
    }
    const auto filled = std::partition(small_.begin(), small_.end(),
                                       [&](const char* page) { return page + kHugePage > next_; });
    for (auto page = filled; page != small_.end(); ++page) mover_.Add(*page);
    small_.erase(filled, small_.end());
  }

  HugePageTrials trials_;
  PageMover mover_;
  absl::Mutex mu_;
  // The map [begin_, end_) is not handed out from next_ on. Huge pages were asked for, where they
  // come quickly, up to asked_.
  char* begin_ ABSL_GUARDED_BY(mu_) = nullptr;
  char* next_ ABSL_GUARDED_BY(mu_) = nullptr;
  char* asked_ ABSL_GUARDED_BY(mu_) = nullptr;
  char* end_ ABSL_GUARDED_BY(mu_) = nullptr;
  // Room for huge pages that has small ones and is not filled yet.
  std::deque<char*> small_ ABSL_GUARDED_BY(mu_);
};

// Never destroyed, because tensors in static storage may be destroyed later.
WeightPages& TheWeightPages() {
  static WeightPages* const pages = new WeightPages;
  return *pages;
}

// A buffer that is whole pages of a mapping.
class WeightsBuffer final : public Buffer {
 public:
  WeightsBuffer(char* data, size_t size) : Buffer(data, size, true) {}
  ~WeightsBuffer() override { TheWeightPages().Free(data_, size_); }
};

class PagesForWeights final : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    char* const block = TheWeightPages().Allocate(size);
    if (block == nullptr) return HeapAllocator()->Allocate(size);
    return IntrusivePtr<Buffer>(MakeRefCounted<WeightsBuffer>(block, size));
  }
};

}  // namespace

Allocator* WeightsAllocator() {
  static PagesForWeights* const pages = new PagesForWeights;
  return pages;
}

}  // namespace tessera
