// Moves elements whose meaning does not matter. Plain elements are moved by their size, and objects
// by assignment.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/logging.h"
#include "runtime/kernels/primitives/element_size.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// The bytes of an element of complex128.
struct Bytes16 {
  uint64_t low, high;
  friend bool operator==(const Bytes16&, const Bytes16&) = default;
};

// Calls visit.template operator()<T>() with the C++ type that stores elements of `dtype`: an
// unsigned integer of their size, Bytes16, std::string, ResourceHandle or Variant. Eight
// instantiations serve all dtypes:
//
//   VisitStorageType(t.dtype(), [&]<typename T>() { Reverse(reinterpret_cast<T*>(t.raw()), n); });
template <typename Visitor>
decltype(auto) VisitStorageType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kString:
      return visit.template operator()<std::string>();
    case DType::kResource:
      return visit.template operator()<ResourceHandle>();
    case DType::kVariant:
      return visit.template operator()<Variant>();
    default:
      return VisitBySize<Bytes16>(static_cast<int64_t>(DTypeSize(dtype)), visit);
  }
}

// Copies `count` elements. The ranges must not overlap; both hold constructed elements.
inline void CopyElements(DType dtype, const char* from, char* to, int64_t count) {
  if (count <= 0) return;
  if (IsTriviallyCopyable(dtype)) {
    std::memcpy(to, from, static_cast<size_t>(count) * DTypeSize(dtype));
    return;
  }
  VisitStorageType(dtype, [&]<typename T>() {
    std::copy_n(reinterpret_cast<const T*>(from), count, reinterpret_cast<T*>(to));
  });
}

// Sets `count` elements to the one at `value`, which must not lie among them.
inline void FillElements(DType dtype, const char* value, char* to, int64_t count) {
  if (count <= 0) return;
  VisitStorageType(dtype, [&]<typename T>() {
    std::fill_n(reinterpret_cast<T*>(to), count, *reinterpret_cast<const T*>(value));
  });
}

// Sets `count` elements to zero bits, or to empty objects.
inline void ZeroElements(DType dtype, char* to, int64_t count) {
  if (count <= 0) return;
  if (IsTriviallyCopyable(dtype)) {
    std::memset(to, 0, static_cast<size_t>(count) * DTypeSize(dtype));
    return;
  }
  VisitStorageType(dtype, [&]<typename T>() { std::fill_n(reinterpret_cast<T*>(to), count, T()); });
}

}  // namespace tessera
