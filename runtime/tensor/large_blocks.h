// Blocks of a mebibyte and more, each mapped by itself.
//
// A fresh mapping is costly: the kernel faults in and zeroes every page, which takes several times
// as long as writing it. So a freed block is kept for a moment, for the next step of the same model
// to reuse; after that it goes back to the system, whatever else the heap holds, so that the
// process's resident memory follows what is in use.
#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace tessera {

// From this size on, blocks come from here and not from malloc.
inline constexpr size_t kLargeBlockSize = size_t{1} << 20;

// A block of at least `size` bytes, aligned to a page at least, with unspecified contents; null if
// memory is out. *block_size gets its real size, for FreeLargeBlock(). Thread-safe.
void* AllocateLargeBlock(size_t size, size_t* block_size);

// The block goes back to the system within about two seconds unless it is reused before; at once if
// more than a gibibyte is waiting. Thread-safe.
void FreeLargeBlock(void* block, size_t block_size);

// Gives back all blocks that wait for reuse, now, and has mimalloc, where it is the heap, give back
// what it holds free for the calling thread: after a model was unloaded. Returns the bytes of the
// blocks. Thread-safe.
size_t ReleaseFreeMemory();

// Gives back the blocks that were freed at `time` or later and wait for reuse: nobody will ask for their
// like soon. Returns their bytes. Thread-safe.
size_t ReleaseBlocksFreedSince(absl::Time time);

}  // namespace tessera
