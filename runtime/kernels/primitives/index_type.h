// Maps a dtype to the integer type of its indices.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/tensor/dtype.h"

namespace tessera {

// Calls visit.template operator()<Index>() with int32_t or int64_t (or another integer type that
// indices may have). Requires IsInteger(dtype).
template <typename Visitor>
decltype(auto) VisitIndexType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kInt16:
      return visit.template operator()<int16_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kUint8:
      return visit.template operator()<uint8_t>();
    case DType::kInt8:
      return visit.template operator()<int8_t>();
    case DType::kUint16:
      return visit.template operator()<uint16_t>();
    case DType::kUint32:
      return visit.template operator()<uint32_t>();
    case DType::kUint64:
      return visit.template operator()<uint64_t>();
    default:
      return visit.template operator()<int64_t>();
  }
}

}  // namespace tessera
