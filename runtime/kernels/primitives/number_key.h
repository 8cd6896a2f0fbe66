// Elements as keys of hash tables. Keys are compared as numbers or texts: 0 equals -0, and NaN
// equals nothing. Only numbers of 16 bits are compared by their bits, as in TensorFlow's tables.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {

// The key of a half or a bfloat16.
struct HalfKey {
  uint16_t bits;
  bool is_nan;
  friend bool operator==(const HalfKey& a, const HalfKey& b) {
    return a.bits == b.bits && !a.is_nan;
  }
  template <typename H>
  friend H AbslHashValue(H h, const HalfKey& key) {
    return H::combine(std::move(h), key.bits);
  }
};

// The key type of elements of type T.
template <typename T>
struct KeyType {
  using type = T;
};
template <>
struct KeyType<Eigen::half> {
  using type = HalfKey;
};
template <>
struct KeyType<Eigen::bfloat16> {
  using type = HalfKey;
};
template <typename T>
using Key = typename KeyType<T>::type;

// Calls visit.template operator()<T>() -> absl::Status with the type of the elements of `dtype`.
// Errors: UNIMPLEMENTED for other dtypes than real numbers, bool and string.
template <typename Visitor>
absl::Status VisitComparableType(DType dtype, Visitor&& visit) {
  if (dtype == DType::kString) return visit.template operator()<std::string>();
  if (dtype == DType::kBool) return visit.template operator()<bool>();
  return VisitRealType(dtype, std::forward<Visitor>(visit));
}

template <typename T>
absl::string_view AsKey(const T& value) requires std::is_same_v<T, std::string> {
  return value;
}
template <typename T>
Key<T> AsKey(const T& value) requires(!std::is_same_v<T, std::string>) {
  if constexpr (std::is_same_v<Key<T>, HalfKey>) {
    return {Eigen::numext::bit_cast<uint16_t>(value), value != value};
  } else {
    return value;
  }
}
template <typename T>
using MapKey = decltype(AsKey(std::declval<const T&>()));

}  // namespace tessera
