// Memory pages that are about to be written for the first time.
#pragma once

#include <cstddef>

namespace tessera {

// Allocates the pages of [begin, begin + size), which must be mapped and writable, with one system
// call for many pages. Page faults, one for each page as it is touched, take 1.5 times as long. The
// contents do not change. Does nothing on Linux before 5.14. Thread-safe; the ranges of several
// threads may share pages.
void PopulatePages(void* begin, size_t size);

}  // namespace tessera
