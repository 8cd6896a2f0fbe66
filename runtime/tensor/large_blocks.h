// Blocks of a mebibyte and more, each of which is a mapping of its own.
//
// A fresh mapping is costly: the operating system faults in and zeroes every page, which takes
// several times as long as writing it. So a freed block is kept for a moment, for the next step of
// the same model to reuse. After that it goes back to the system, so that the resident memory of
// the process follows what is in use.
#pragma once

#include <cstddef>

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

}  // namespace tessera
