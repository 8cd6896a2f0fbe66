// Sets of dtypes for registrations, such as kInteger | kFloating.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/tensor/dtype.h"

namespace tessera {

inline constexpr int kNumDTypes = 33;

using DTypeSet = uint64_t;

template <typename... D>
constexpr DTypeSet DTypes(D... dtypes) {
  return ((DTypeSet{1} << static_cast<int>(dtypes)) | ... | 0);
}
constexpr bool Contains(DTypeSet set, DType dtype) {
  return (set >> static_cast<int>(dtype) & 1) != 0;
}

inline constexpr DTypeSet kNarrowFloat = DTypes(DType::kHalf, DType::kBfloat16);
inline constexpr DTypeSet kFloating = kNarrowFloat | DTypes(DType::kFloat, DType::kDouble);
inline constexpr DTypeSet kComplex = DTypes(DType::kComplex64, DType::kComplex128);
inline constexpr DTypeSet kSigned =
    DTypes(DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64);
inline constexpr DTypeSet kUnsigned =
    DTypes(DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64);
inline constexpr DTypeSet kInteger = kSigned | kUnsigned;
inline constexpr DTypeSet kReal = kInteger | kFloating;
inline constexpr DTypeSet kNumeric = kReal | kComplex;
inline constexpr DTypeSet kBool = DTypes(DType::kBool);
inline constexpr DTypeSet kString = DTypes(DType::kString);
inline constexpr DTypeSet kQuantized =
    DTypes(DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32);

inline std::vector<DType> DTypeList(DTypeSet set) {
  std::vector<DType> list;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (Contains(set, static_cast<DType>(i))) list.push_back(static_cast<DType>(i));
  }
  return list;
}

template <typename T>
using TypeTag = std::type_identity<T>;

// Calls visit(TypeTag<T>) for each T that stores a dtype of the set.
template <DTypeSet kTypes, typename Visitor>
constexpr void ForEachType(Visitor visit) {
  auto one = [&]<typename T>(TypeTag<T> t) {
    if constexpr (Contains(kTypes, DTypeOf<T>)) visit(t);
  };
  one(TypeTag<float>()), one(TypeTag<double>());
  one(TypeTag<int8_t>()), one(TypeTag<int16_t>()), one(TypeTag<int32_t>()), one(TypeTag<int64_t>());
  one(TypeTag<uint8_t>()), one(TypeTag<uint16_t>()), one(TypeTag<uint32_t>()),
      one(TypeTag<uint64_t>());
  one(TypeTag<std::complex<float>>()), one(TypeTag<std::complex<double>>());
  one(TypeTag<bool>()), one(TypeTag<std::string>());
}

// Returns the dtypes for which the loops of an op with these dtypes must be instantiated. Narrow
// floats use the loops of float, and quantised numbers those of the integers that store them.
constexpr DTypeSet Instantiated(DTypeSet types) {
  DTypeSet set = types & ~kNarrowFloat & ~kQuantized;
  if ((types & kNarrowFloat) != 0) set |= DTypes(DType::kFloat);
  if ((types & kQuantized) != 0) set |= kSigned | kUnsigned;
  return set;
}

}  // namespace tessera
