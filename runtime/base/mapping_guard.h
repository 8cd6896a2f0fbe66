// Keeps the bytes of a mapped file what they were when it was mapped, whatever becomes of the file.
//
// A map follows its file: one that is overwritten in place changes under its readers, and one that
// is cut short raises SIGBUS in them. So a guarded file is held by a lease (fcntl's F_SETLEASE):
// before the kernel lets anybody open it for writing or cut it, a thread of the guard copies the
// map into memory of its own at the same addresses, while readers go on reading; then the writer
// proceeds. Where a page cannot be had at all, because a disk fails, readers see zeros, and the
// map counts as damaged from then on.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Starts the guard's thread, at the calling thread's priority; otherwise the first guarded map
// does.
void StartMappingGuard();

// Guards the map of `size` bytes at `data`, which is page-aligned, of the file that `fd` has open
// for reading. True takes over `fd`. False if the file cannot be held: it is open for writing now,
// it is another user's (unless the process has CAP_LEASE), or its file system has no leases or
// knows of writers elsewhere. Thread-safe.
bool GuardMapping(int fd, const std::string& path, char* data, size_t size);

// Before the map goes away. Does nothing for one that is not guarded. Thread-safe.
void UnguardMapping(char* data);

// Lets the pages that lie wholly in `bytes` leave resident memory if they belong to a guarded map:
// they stay in the system's cache of the file, and come back from there once they are read. Bytes
// elsewhere, and those of a map that its file was about to change under, stay where they are.
// Thread-safe, also for readers of the bytes.
void ReleaseMappedPages(absl::string_view bytes);

// madvise(MADV_DONTNEED) of whole pages, a slice at a time. While the kernel is at one, which takes
// some ten microseconds, its core is nobody else's, whatever the thread's priority: 16 MB at once
// were seen to hold a request up for three milliseconds. Thread-safe.
void DropPages(char* begin, size_t size);

// DATA_LOSS if a guarded map of a file below `directory` is damaged. Thread-safe.
absl::Status CheckMappings(absl::string_view directory);

namespace mapping_guard_internal {
extern std::atomic<int> num_damaged;
}  // namespace mapping_guard_internal

// False as long as CheckMappings() finds nothing in any directory; for every run to look at.
inline bool AnyMappingDamaged() {
  return mapping_guard_internal::num_damaged.load(std::memory_order_relaxed) > 0;
}

}  // namespace tessera
