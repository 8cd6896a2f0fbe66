// Element types of tensors. Numbers and names are TensorFlow's (types.proto), so that conversion at
// the edges is a cast.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "Eigen/Core"
#include "absl/strings/string_view.h"

namespace tessera {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5M2 = 24,
  kFloat8E4M3FN = 25,
  kFloat8E4M3FNUZ = 26,
  kFloat8E4M3B11FNUZ = 27,
  kFloat8E5M2FNUZ = 28,
  kInt4 = 29,
  kUint4 = 30,
  kInt2 = 31,
  kUint2 = 32,
};

// A reference type (the output of VariableV2) is its value type plus 100, in graphs only: tensors
// never have one.
inline constexpr int kRefOffset = 100;
constexpr bool IsRef(DType t) { return static_cast<int>(t) > kRefOffset; }
constexpr DType MakeRef(DType t) {
  return IsRef(t) ? t : static_cast<DType>(static_cast<int>(t) + kRefOffset);
}
constexpr DType RemoveRef(DType t) {
  return IsRef(t) ? static_cast<DType>(static_cast<int>(t) - kRefOffset) : t;
}

// The name users see: "float", "int32", "bfloat16", "float_ref"; "invalid" for an unknown number.
std::string DTypeName(DType t);
// From "float", "DT_FLOAT" or "float32" alike; kInvalid if unknown.
DType DTypeFromName(absl::string_view name);

// Bytes of one element in memory; 0 for kInvalid, references and unknown numbers. int4 and int2
// take one byte an element.
size_t DTypeSize(DType t);
// True for the types a tensor can have: neither kInvalid, nor a reference, nor an unknown number.
bool IsKnown(DType t);
bool IsFloating(DType t);  // half, bfloat16, float, double, the float8 family
bool IsComplex(DType t);
bool IsInteger(DType t);  // signed or unsigned, not quantised, not bool
bool IsUnsigned(DType t);
bool IsQuantized(DType t);
// True if elements may be copied, zeroed and dropped as bytes: all but string, resource, variant.
constexpr bool IsTriviallyCopyable(DType t) {
  return t != DType::kString && t != DType::kResource && t != DType::kVariant;
}

// Storage types of the quantised dtypes: distinct from the plain integers so that kernels can be
// told apart by C++ type.
struct qint8 {
  int8_t value;
};
struct quint8 {
  uint8_t value;
};
struct qint16 {
  int16_t value;
};
struct quint16 {
  uint16_t value;
};
struct qint32 {
  int32_t value;
};

class ResourceHandle;  // runtime/tensor/resource_handle.h
class Variant;         // runtime/tensor/variant.h

template <typename T>
struct DTypeOfT;
template <DType D>
struct CppTypeT;

#define TESSERA_DTYPE(CPP, DTYPE)                \
  template <>                                    \
  struct DTypeOfT<CPP> {                         \
    static constexpr DType value = DType::DTYPE; \
  };                                             \
  template <>                                    \
  struct CppTypeT<DType::DTYPE> {                \
    using type = CPP;                            \
  };
TESSERA_DTYPE(float, kFloat)
TESSERA_DTYPE(double, kDouble)
TESSERA_DTYPE(int32_t, kInt32)
TESSERA_DTYPE(uint8_t, kUint8)
TESSERA_DTYPE(int16_t, kInt16)
TESSERA_DTYPE(int8_t, kInt8)
TESSERA_DTYPE(std::string, kString)
TESSERA_DTYPE(std::complex<float>, kComplex64)
TESSERA_DTYPE(int64_t, kInt64)
TESSERA_DTYPE(bool, kBool)
TESSERA_DTYPE(qint8, kQint8)
TESSERA_DTYPE(quint8, kQuint8)
TESSERA_DTYPE(qint32, kQint32)
TESSERA_DTYPE(Eigen::bfloat16, kBfloat16)
TESSERA_DTYPE(qint16, kQint16)
TESSERA_DTYPE(quint16, kQuint16)
TESSERA_DTYPE(uint16_t, kUint16)
TESSERA_DTYPE(std::complex<double>, kComplex128)
TESSERA_DTYPE(Eigen::half, kHalf)
TESSERA_DTYPE(ResourceHandle, kResource)
TESSERA_DTYPE(Variant, kVariant)
TESSERA_DTYPE(uint32_t, kUint32)
TESSERA_DTYPE(uint64_t, kUint64)
#undef TESSERA_DTYPE

// kFloat for float, and so on: DTypeOf<T>.
template <typename T>
inline constexpr DType DTypeOf = DTypeOfT<T>::value;
// float for kFloat, and so on: CppType<D>.
template <DType D>
using CppType = typename CppTypeT<D>::type;

}  // namespace tessera
