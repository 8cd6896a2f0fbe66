#include "runtime/base/fresh_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // of Linux 5.14
#endif

namespace tessera {

void PopulatePages(void* begin, size_t size) {
  constexpr uintptr_t kPage = 4096;
  // A call ends soon where a thread of low priority makes it.
  constexpr uintptr_t kSlice = uintptr_t{1} << 18;
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t end = (address + size + kPage - 1) & ~(kPage - 1);
  for (uintptr_t at = address & ~(kPage - 1); at < end; at += kSlice) {
    const uintptr_t length = std::min(kSlice, end - at);
    if (::madvise(reinterpret_cast<void*>(at), length, MADV_POPULATE_WRITE) != 0) return;
  }
}

}  // namespace tessera
