// Chooses code by the element type of a tensor of numbers.
#pragma once

#include <cstdint>

#include "Eigen/Core"
#include "runtime/tensor/dtype.h"

namespace tessera::serving {

// Calls f.operator()<T>() with the C++ type of the elements, and returns true, if the protocol has
// a datatype of numbers for `dtype`. Returns false for BOOL, BYTES and all others.
template <typename F>
bool WithNumberType(DType dtype, F f) {
  switch (dtype) {
    case DType::kInt8:
      f.template operator()<int8_t>();
      return true;
    case DType::kInt16:
      f.template operator()<int16_t>();
      return true;
    case DType::kInt32:
      f.template operator()<int32_t>();
      return true;
    case DType::kInt64:
      f.template operator()<int64_t>();
      return true;
    case DType::kUint8:
      f.template operator()<uint8_t>();
      return true;
    case DType::kUint16:
      f.template operator()<uint16_t>();
      return true;
    case DType::kUint32:
      f.template operator()<uint32_t>();
      return true;
    case DType::kUint64:
      f.template operator()<uint64_t>();
      return true;
    case DType::kHalf:
      f.template operator()<Eigen::half>();
      return true;
    case DType::kBfloat16:
      f.template operator()<Eigen::bfloat16>();
      return true;
    case DType::kFloat:
      f.template operator()<float>();
      return true;
    case DType::kDouble:
      f.template operator()<double>();
      return true;
    default:
      return false;
  }
}

}  // namespace tessera::serving
