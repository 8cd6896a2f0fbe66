// Blocks of a mebibyte and more, each of which is a mapping of its own.
//
// A fresh mapping is costly: the operating system faults in and zeroes every page, which takes
// several times as long as writing it. So a freed block is kept for a moment, for the next step of
// the same model to reuse. After that it goes back to the system, so that the resident memory of
// the process follows what is in use.
#pragma once

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera {

// The size in bytes from which on blocks come from here and not from malloc.
inline constexpr size_t kLargeBlockSize = size_t{1} << 20;

// Returns a block of at least `size` bytes, aligned to a page, with unspecified contents; null if
// memory runs out. Sets *block_size to its real size, for FreeLargeBlock(). Thread-safe.
void* AllocateLargeBlock(size_t size, size_t* block_size);

// Frees a block. It goes back to the system within about two seconds unless it is reused before
// that, or at once if more than a gibibyte is waiting. Thread-safe.
void FreeLargeBlock(void* block, size_t block_size);

// Gives all blocks that wait for reuse back to the system. If mimalloc is the heap, also gives back
// what it holds free for the calling thread. Meant for the time after a model was unloaded. Returns
// the size of the blocks in bytes. Thread-safe.
size_t ReleaseFreeMemory();

// Gives back the blocks that were freed at `time` or later and wait for reuse, for a caller who
// knows that blocks of these sizes will not be needed soon. Returns their size in bytes.
// Thread-safe.
size_t ReleaseBlocksFreedSince(absl::Time time);

// Huge pages for blocks that are read over and over. They need few entries of the TLB, and are
// several times faster to fault in than small ones, unless the host of a virtual machine has to
// find the memory first.
inline constexpr size_t kHugePage = size_t{1} << 21;

// Maps `size` bytes of private memory, whose address is a multiple of kHugePage. The pages are
// small ones unless the caller asks for others by madvise(). Returns null if memory runs out.
// munmap() gives the bytes back.
void* MapAtHugePage(size_t size);

// Decides whether fresh memory is to have huge pages, from the time that the first page of each
// block took. After a slow one, the next blocks have small pages, the more of them the more slow
// pages follow each other. Thread-safe.
class HugePageTrials {
 public:
  // Memory that a virtual machine's host has ready takes 0.2 to 2 ms a huge page, and as many small
  // pages take 1 ms. Where the host had to find it, 4 to 45 ms were seen.
  static constexpr absl::Duration kSlow = absl::Milliseconds(3);
  // The size of the blocks, in bytes, that have small pages after a slow one.
  static constexpr size_t kFirstPause = size_t{64} << 20, kLongestPause = size_t{1} << 30;

  // Returns true if a block of `size` bytes is to ask for huge pages. The caller then reports the
  // time of its first page.
  bool ShouldTry(size_t size);
  // Returns true if the block is to keep asking for them.
  bool Report(absl::Duration first_page);

 private:
  absl::Mutex mu_;
  size_t paused_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // bytes that are still to have small pages
  size_t next_pause_ ABSL_GUARDED_BY(mu_) = kFirstPause;
};

// Lets the kernel back a fresh block of MapAtHugePage(), of kHugePage or more, by huge pages if
// `trials` favours them. A last part that does not fill a huge page keeps small ones.
void AskForHugePages(void* block, size_t size, HugePageTrials* trials);

}  // namespace tessera
