// Maps the size of an element to a C++ type.
#pragma once

#include <cstdint>

namespace tessera {

// Calls visit.template operator()<T>() with an unsigned integer of `size` bytes, or with Bytes16
// for 16 bytes. Other sizes are not allowed.
template <typename Bytes16, typename Visitor>
decltype(auto) VisitBySize(int64_t size, Visitor&& visit) {
  switch (size) {
    case 1:
      return visit.template operator()<uint8_t>();
    case 2:
      return visit.template operator()<uint16_t>();
    case 4:
      return visit.template operator()<uint32_t>();
    case 8:
      return visit.template operator()<uint64_t>();
    default:
      return visit.template operator()<Bytes16>();
  }
}

}  // namespace tessera
