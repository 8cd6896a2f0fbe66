// The mapping guard: keeps the bytes of memory-mapped files unchanged, whatever happens to the
// files.
//
// A map shows the current contents of its file. If the file is overwritten in place, the bytes
// change while others read them; if it is truncated, readers get SIGBUS. The guard therefore holds
// a lease on each file (fcntl(2), F_SETLEASE). Before the kernel lets anybody open the file for
// writing or truncate it, the guard's thread replaces the map by a copy at the same addresses.
// Readers go on reading meanwhile, and the writer proceeds afterwards. If a page cannot be read,
// because a disk fails, readers see zeros, and the map counts as damaged from then on.
//
// There is one guard in a process, and it is not owned by an object: the signal of a lease and the
// handler of SIGBUS belong to the process, and the handler is called without arguments of ours. The
// guard is created with the first map and never destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Starts the guard's thread now, at the priority of the calling thread. Without this call the first
// guarded map starts it.
void StartMappingGuard();

// Guards the map of `size` bytes at `data`, which is page-aligned, of the file that `fd` has open
// for reading. Returns true and takes ownership of `fd` if the map is guarded. Returns false if
// there can be no lease: the file is open for writing, it belongs to another user and the process
// lacks CAP_LEASE, or its file system has no leases or has writers on other machines. Thread-safe.
bool GuardMapping(int fd, const std::string& path, char* data, size_t size);

// Ends the guarding of the map at `data`. To be called before munmap(). Does nothing if the map is
// not guarded. Thread-safe.
void UnguardMapping(char* data);

// Removes the pages that lie completely inside `bytes` from resident memory, if they belong to a
// guarded map. They stay in the page cache, and return from there when they are read. Does nothing
// for other memory, and for a map that the guard has replaced by a copy. Thread-safe; other threads
// may read the bytes meanwhile.
void ReleaseMappedPages(absl::string_view bytes);

// Calls madvise(MADV_DONTNEED) for whole pages, in slices of 512 KiB. The kernel does not preempt
// such a call, whatever the priority of the thread: a slice takes about 10 us, and a call for 16 MB
// has delayed a request by 3 ms. Thread-safe.
void DropPages(char* begin, size_t size);

// Returns DATA_LOSS if a guarded map of a file below `directory`, or of the checkpoint which has
// that prefix, is damaged. Thread-safe.
absl::Status CheckMappings(absl::string_view directory);

namespace mapping_guard_internal {
extern std::atomic<int> num_damaged;
}  // namespace mapping_guard_internal

// Returns false if CheckMappings() is OK for all directories. Cheap enough for every run.
inline bool AnyMappingDamaged() {
  return mapping_guard_internal::num_damaged.load(std::memory_order_relaxed) > 0;
}

}  // namespace tessera
