// Memory that is about to be written for the first time.
#pragma once

#include <cstddef>

namespace tessera {

// Has the system find the pages of [begin, begin + size), which is mapped and writable, all in one
// go: page by page, as they are touched, takes half as long again. Contents stay as they are. Where
// the kernel can't (Linux before 5.14), nothing happens. Thread-safe; ranges of several threads may
// share pages.
void PopulatePages(void* begin, size_t size);

}  // namespace tessera
