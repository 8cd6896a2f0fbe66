#include "runtime/tensor/large_blocks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

// Defined by mimalloc in programs that link it (//runtime/host/malloc).
extern "C" void mi_collect(bool force) __attribute__((weak));

namespace tessera {
namespace {

constexpr size_t kPage = size_t{1} << 12;
// Smaller blocks end in small pages, because they would waste much of a last huge page.
constexpr size_t kMinWholePages = 2 * kHugePage;
constexpr size_t kMaxFreeBytes = size_t{1} << 30;
constexpr absl::Duration kMaxFreeAge = absl::Seconds(2);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr size_t kMaxBlock = size_t{1} << 26;  // a slow case is no finding, and memory runs out
#else
constexpr size_t kMaxBlock = SIZE_MAX / 4;
#endif

size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// Rounds up to one of eight sizes between two powers of two, so that freed blocks fit later
// requests.
size_t BlockSize(size_t size) {
  const int log2 = 63 - __builtin_clzll(size);
  return RoundUp(RoundUp(size, size_t{1} << (log2 - 3)),
                 size >= kMinWholePages ? kHugePage : kPage);
}

void* MapHuge(size_t size) {
  void* const block = MapAtHugePage(size);
  if (block != nullptr) {
    ::madvise(block, size, MADV_HUGEPAGE);  // where the kernel has none, small ones do
  }
  return block;
}

void* Map(size_t size) {
  if (size >= kHugePage) return MapHuge(size);
  void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return map == MAP_FAILED ? nullptr : map;
}

// The free blocks, oldest first.
class FreeBlocks {
 public:
  void* Take(size_t size) {
    absl::MutexLock lock(&mu_);
    for (auto it = blocks_.rbegin(); it != blocks_.rend(); ++it) {
      if (it->size != size) continue;
      void* address = it->address;
      bytes_ -= size;
      blocks_.erase(std::next(it).base());
      return address;
    }
    return nullptr;
  }

  void Put(void* address, size_t size) {
    std::vector<Block> victims;
    {
      absl::MutexLock lock(&mu_);
      if (!reaping_) {
        reaping_ = true;
        std::thread([this] { Reap(); }).detach();
      }
      blocks_.push_back({address, size, absl::Now()});
      bytes_ += size;
      size_t count = 0;
      while (bytes_ > kMaxFreeBytes) bytes_ -= blocks_[count++].size;
      victims = TakeOldest(count);
    }
    Unmap(victims);
  }

  // Releases blocks that were freed at `time` or later.
  size_t ReleaseSince(absl::Time time) {
    std::vector<Block> victims;
    {
      absl::MutexLock lock(&mu_);
      const auto first = std::partition_point(blocks_.begin(), blocks_.end(),
                                              [&](const Block& b) { return b.freed < time; });
      victims.assign(first, blocks_.end());
      blocks_.erase(first, blocks_.end());
      for (const Block& block : victims) bytes_ -= block.size;
    }
    return Unmap(victims);
  }

 private:
  struct Block {
    void* address;
    size_t size;
    absl::Time freed;
  };

  std::vector<Block> TakeOldest(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto end = blocks_.begin() + static_cast<ptrdiff_t>(count);
    std::vector<Block> taken(blocks_.begin(), end);
    blocks_.erase(blocks_.begin(), end);
    return taken;
  }

  // Outside the lock, because the system call takes a while.
  static size_t Unmap(const std::vector<Block>& blocks) {
    size_t bytes = 0;
    for (const Block& block : blocks) {
      ::munmap(block.address, block.size);
      bytes += block.size;
    }
    return bytes;
  }

  bool HasBlocks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !blocks_.empty(); }

  // Body of the thread that gives old blocks back. It sleeps while there are none.
  void Reap() {
    pthread_setname_np(pthread_self(), "memory_reaper");
    while (true) {
      std::vector<Block> victims;
      absl::Duration pause;
      {
        absl::MutexLock lock(&mu_);
        mu_.Await(absl::Condition(this, &FreeBlocks::HasBlocks));
        const absl::Time limit = absl::Now() - kMaxFreeAge;
        size_t count = 0;
        while (count < blocks_.size() && blocks_[count].freed <= limit) {
          bytes_ -= blocks_[count++].size;
        }
        victims = TakeOldest(count);
        pause = blocks_.empty() ? absl::ZeroDuration() : blocks_.front().freed - limit;
      }
      Unmap(victims);
      // Bounded, because the clock may be changed.
      absl::SleepFor(std::min(pause, kMaxFreeAge));
    }
  }

  absl::Mutex mu_;
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool reaping_ ABSL_GUARDED_BY(mu_) = false;
};

// Never destroyed, because tensors in static storage may be destroyed later.
FreeBlocks& TheFreeBlocks() {
  static FreeBlocks* const blocks = new FreeBlocks;
  return *blocks;
}

// The time that this thread has spent on a core. Other threads that take the core do not count.
absl::Duration ThreadCpuTime() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

}  // namespace

void* AllocateLargeBlock(size_t size, size_t* block_size) {
  if (size > kMaxBlock) return nullptr;
  *block_size = BlockSize(size);
  if (void* block = TheFreeBlocks().Take(*block_size)) return block;
  void* block = Map(*block_size);
  // The memory of blocks that wait for reuse may be what is missing.
  if (block == nullptr && ReleaseFreeMemory() > 0) block = Map(*block_size);
  return block;
}

void FreeLargeBlock(void* block, size_t block_size) { TheFreeBlocks().Put(block, block_size); }

size_t ReleaseFreeMemory() {
  if (mi_collect != nullptr) mi_collect(/*force=*/true);
  return TheFreeBlocks().ReleaseSince(absl::InfinitePast());
}

size_t ReleaseBlocksFreedSince(absl::Time time) { return TheFreeBlocks().ReleaseSince(time); }

void* MapAtHugePage(size_t size) {
  if (size > SIZE_MAX / 2) return nullptr;
  size = (size + kPage - 1) / kPage * kPage;
  void* const map =
      ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(map);
  char* const block = begin + (-reinterpret_cast<uintptr_t>(map) & (kHugePage - 1));
  char* const end = begin + size + kHugePage;
  if (block > begin) ::munmap(begin, static_cast<size_t>(block - begin));
  if (end > block + size) ::munmap(block + size, static_cast<size_t>(end - (block + size)));
  return block;
}

bool HugePageTrials::ShouldTry(size_t size) {
  absl::MutexLock lock(&mu_);
  if (paused_bytes_ == 0) return true;
  paused_bytes_ -= std::min(paused_bytes_, size);
  return false;
}

bool HugePageTrials::Report(absl::Duration first_page) {
  absl::MutexLock lock(&mu_);
  if (first_page <= kSlow) {
    next_pause_ = kFirstPause;
    return true;
  }
  paused_bytes_ = next_pause_;
  next_pause_ = std::min(2 * next_pause_, kLongestPause);
  return false;
}

void AskForHugePages(void* block, size_t size, HugePageTrials* trials) {
  if (!trials->ShouldTry(size)) return;
  const size_t whole = size / kHugePage * kHugePage;
  if (::madvise(block, whole, MADV_HUGEPAGE) != 0) return;  // the kernel has none
  const absl::Duration start = ThreadCpuTime();
  *static_cast<volatile char*>(block) = 0;
  if (!trials->Report(ThreadCpuTime() - start)) ::madvise(block, whole, MADV_NOHUGEPAGE);
}

}  // namespace tessera
