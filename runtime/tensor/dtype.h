// The element types of tensors. Numbers and names are those of TensorFlow's types.proto, so that a
// cast converts them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

// Code that computes with these includes Eigen/Core, which is too heavy for a header that all
// include.
namespace Eigen {
struct bfloat16;
struct half;
}  // namespace Eigen

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

// A reference type, such as that of VariableV2's output, is its value type plus 100. It occurs in
// graphs only; no tensor has one.
inline constexpr int kRefOffset = 100;
constexpr bool IsRef(DType t) { return static_cast<int>(t) > kRefOffset; }
constexpr DType MakeRef(DType t) {
  return IsRef(t) ? t : static_cast<DType>(static_cast<int>(t) + kRefOffset);
}
constexpr DType RemoveRef(DType t) {
  return IsRef(t) ? static_cast<DType>(static_cast<int>(t) - kRefOffset) : t;
}

// Returns the name that users see: "float", "int32", "bfloat16", "float_ref"; "invalid" for an
// unknown number.
std::string DTypeName(DType t);
// Takes "float", "DT_FLOAT" and "float32" alike. Returns kInvalid for an unknown name.
DType DTypeFromName(absl::string_view name);

// Returns the size of one element in bytes; 0 for kInvalid, references and unknown numbers. An
// element of int4 or int2 takes one byte.
size_t DTypeSize(DType t);
// Returns whether a tensor can have the type: it is neither kInvalid, nor a reference, nor an
// unknown number.
bool IsKnown(DType t);
bool IsFloating(DType t);  // half, bfloat16, float, double, and the float8 family
bool IsComplex(DType t);
bool IsInteger(DType t);  // signed or unsigned; neither quantised types nor bool
bool IsUnsigned(DType t);
bool IsQuantized(DType t);
// Returns whether elements may be copied, zeroed and dropped as bytes. This holds for all types but
// string, resource and variant.
constexpr bool IsTriviallyCopyable(DType t) {
  return t != DType::kString && t != DType::kResource && t != DType::kVariant;
}

// The C++ types of the quantised dtypes. They differ from the plain integers, so that templates can
// tell them apart.
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

// DTypeOf<float> is kFloat, and so on.
template <typename T>
inline constexpr DType DTypeOf = DTypeOfT<T>::value;
// CppType<DType::kFloat> is float, and so on.
template <DType D>
using CppType = typename CppTypeT<D>::type;

}  // namespace tessera
