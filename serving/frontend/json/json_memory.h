// The memory of JSON trees.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tessera::serving {

// An allocator of RapidJSON, which uses what it is given without a check. Throws std::bad_alloc
// where there is no memory.
class JsonMemory {
 public:
  static constexpr bool kNeedFree = true;

  void* Malloc(size_t size) { return size == 0 ? nullptr : Checked(std::malloc(size)); }
  // After an exception the old memory is as it was.
  void* Realloc(void* memory, size_t /*old_size*/, size_t size) {
    if (size > 0) return Checked(std::realloc(memory, size));
    std::free(memory);
    return nullptr;
  }
  static void Free(void* memory) { std::free(memory); }

 private:
  static void* Checked(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
};

}  // namespace tessera::serving
