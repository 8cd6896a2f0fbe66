// Elements in device memory: loading and storing them by their dtype, as the type that a kernel
// computes with. One kernel thus serves several dtypes:
//
//   compute type   dtypes
//   float          half, bfloat16, float
//   double         double
//   int64_t        bool and all integers but uint64; what is stored wraps around
//   uint64_t       uint64
//   Complex<T>     complex64, complex128
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/element_size.h"
#include "runtime/kernels/primitives/math/device_std.h"
#include "runtime/tensor/tensor.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#else
#include "Eigen/Core"
#endif

namespace tessera::cuda {

TESSERA_DEVICE_FUNCTION inline float FloatOfBfloat16(uint16_t bits) {
  return device_std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
// Rounds to nearest, ties to even.
TESSERA_DEVICE_FUNCTION inline uint16_t Bfloat16OfFloat(float value) {
  const uint32_t bits = device_std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
TESSERA_DEVICE_FUNCTION inline float FloatOfHalf(uint16_t bits) {
#ifdef __CUDACC__
  return __half2float(__ushort_as_half(bits));
#else
  return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits));
#endif
}
TESSERA_DEVICE_FUNCTION inline uint16_t HalfOfFloat(float value) {
#ifdef __CUDACC__
  return __half_as_ushort(__float2half_rn(value));
#else
  return Eigen::numext::bit_cast<uint16_t>(static_cast<Eigen::half>(value));
#endif
}

// Element `i` of an array of `dtype`, whose compute type is A.
template <typename A>
TESSERA_DEVICE_FUNCTION A LoadElement(const void* base, DType dtype, int64_t i) {
  if constexpr (std::is_same_v<A, float>) {
    if (dtype == DType::kFloat) return static_cast<const float*>(base)[i];
    const uint16_t bits = static_cast<const uint16_t*>(base)[i];
    return dtype == DType::kHalf ? FloatOfHalf(bits) : FloatOfBfloat16(bits);
  } else if constexpr (std::is_same_v<A, int64_t>) {
    switch (dtype) {
      case DType::kInt32:
      case DType::kQint32:
        return static_cast<const int32_t*>(base)[i];
      case DType::kInt16:
      case DType::kQint16:
        return static_cast<const int16_t*>(base)[i];
      case DType::kInt8:
      case DType::kQint8:
        return static_cast<const int8_t*>(base)[i];
      case DType::kUint8:
      case DType::kQuint8:
      case DType::kBool:
        return static_cast<const uint8_t*>(base)[i];
      case DType::kUint16:
      case DType::kQuint16:
        return static_cast<const uint16_t*>(base)[i];
      case DType::kUint32:
        return static_cast<const uint32_t*>(base)[i];
      default:
        return static_cast<const int64_t*>(base)[i];
    }
  } else {
    return static_cast<const A*>(base)[i];
  }
}

template <typename A>
TESSERA_DEVICE_FUNCTION void StoreElement(void* base, DType dtype, int64_t i, A value) {
  if constexpr (std::is_same_v<A, float>) {
    if (dtype == DType::kFloat) {
      static_cast<float*>(base)[i] = value;
    } else {
      static_cast<uint16_t*>(base)[i] =
          dtype == DType::kHalf ? HalfOfFloat(value) : Bfloat16OfFloat(value);
    }
  } else if constexpr (std::is_same_v<A, int64_t>) {
    switch (dtype) {
      case DType::kInt32:
      case DType::kQint32:
      case DType::kUint32:
        static_cast<uint32_t*>(base)[i] = static_cast<uint32_t>(value);
        return;
      case DType::kInt16:
      case DType::kQint16:
      case DType::kUint16:
      case DType::kQuint16:
        static_cast<uint16_t*>(base)[i] = static_cast<uint16_t>(value);
        return;
      case DType::kInt8:
      case DType::kQint8:
      case DType::kUint8:
      case DType::kQuint8:
      case DType::kBool:
        static_cast<uint8_t*>(base)[i] = static_cast<uint8_t>(value);
        return;
      default:
        static_cast<int64_t*>(base)[i] = value;
    }
  } else {
    static_cast<A*>(base)[i] = value;
  }
}

// The least and the greatest finite value of a dtype.
template <typename A>
TESSERA_DEVICE_FUNCTION A GreatestFinite(DType dtype) {
  if constexpr (std::is_same_v<A, float>) {
    return dtype == DType::kHalf       ? 65504.0f
           : dtype == DType::kBfloat16 ? FloatOfBfloat16(0x7f7f)
                                       : device_std::numeric_limits<float>::max();
  } else if constexpr (std::is_same_v<A, int64_t>) {
    switch (dtype) {
      case DType::kBool:
        return 1;
      case DType::kInt8:
        return device_std::numeric_limits<int8_t>::max();
      case DType::kUint8:
        return device_std::numeric_limits<uint8_t>::max();
      case DType::kInt16:
        return device_std::numeric_limits<int16_t>::max();
      case DType::kUint16:
        return device_std::numeric_limits<uint16_t>::max();
      case DType::kInt32:
        return device_std::numeric_limits<int32_t>::max();
      case DType::kUint32:
        return device_std::numeric_limits<uint32_t>::max();
      default:
        return device_std::numeric_limits<int64_t>::max();
    }
  } else {
    return device_std::numeric_limits<A>::max();
  }
}
template <typename A>
TESSERA_DEVICE_FUNCTION A LeastFinite(DType dtype) {
  if constexpr (std::is_floating_point_v<A>) {
    return -GreatestFinite<A>(dtype);
  } else if constexpr (std::is_same_v<A, int64_t>) {
    switch (dtype) {
      case DType::kInt8:
      case DType::kInt16:
      case DType::kInt32:
      case DType::kInt64:
        return -GreatestFinite<A>(dtype) - 1;
      default:
        return 0;
    }
  } else {
    return 0;
  }
}

// Returns the value after it was stored as `dtype` and loaded again.
template <typename A>
TESSERA_DEVICE_FUNCTION A Rounded(DType dtype, A value) {
  uint64_t storage[2];
  StoreElement<A>(storage, dtype, 0, value);
  return LoadElement<A>(storage, dtype, 0);
}

// An array of device memory with its dtype, as a parameter of kernels.
template <typename A>
struct Input {
  const void* data;
  DType dtype;
  Input(const Tensor& tensor) : data(tensor.address()), dtype(tensor.dtype()) {}  // NOLINT
  Input(const void* data, DType dtype) : data(data), dtype(dtype) {}
  TESSERA_DEVICE_FUNCTION A operator[](int64_t i) const { return LoadElement<A>(data, dtype, i); }
};
template <typename A>
struct Output {
  void* data;
  DType dtype;
  Output(Tensor* tensor)  // NOLINT(google-explicit-constructor)
      : data(tensor->address()), dtype(tensor->dtype()) {}
  Output(void* data, DType dtype) : data(data), dtype(dtype) {}
  TESSERA_DEVICE_FUNCTION void Set(int64_t i, A value) const {
    StoreElement<A>(data, dtype, i, value);
  }
  TESSERA_DEVICE_FUNCTION A operator[](int64_t i) const { return LoadElement<A>(data, dtype, i); }
};

// Integers of any width that are indices.
using Indices = Input<int64_t>;

// Calls visit.template operator()<A>() -> absl::Status with the compute type of `dtype`, which is
// instantiated if kTypes has one of its dtypes. Errors: UNIMPLEMENTED for other dtypes.
template <DTypeSet kTypes, typename Visitor>
absl::Status VisitComputeType(DType dtype, Visitor&& visit) {
  constexpr DTypeSet kFloats = kNarrowFloat | DTypes(DType::kFloat);
  constexpr DTypeSet kIntegers = (kInteger & ~DTypes(DType::kUint64)) | kBool | kQuantized;
  if constexpr ((kTypes & kFloats) != 0) {
    if (Contains(kFloats, dtype)) return visit.template operator()<float>();
  }
  if constexpr (Contains(kTypes, DType::kDouble)) {
    if (dtype == DType::kDouble) return visit.template operator()<double>();
  }
  if constexpr ((kTypes & kIntegers) != 0) {
    if (Contains(kIntegers, dtype)) return visit.template operator()<int64_t>();
  }
  if constexpr (Contains(kTypes, DType::kUint64)) {
    if (dtype == DType::kUint64) return visit.template operator()<uint64_t>();
  }
  if constexpr (Contains(kTypes, DType::kComplex64)) {
    if (dtype == DType::kComplex64) return visit.template operator()<Complex<float>>();
  }
  if constexpr (Contains(kTypes, DType::kComplex128)) {
    if (dtype == DType::kComplex128) return visit.template operator()<Complex<double>>();
  }
  return absl::UnimplementedError(
      absl::StrCat("not implemented for elements of ", DTypeName(dtype)));
}

// An element of complex128, or several narrower ones, which one instruction moves.
struct alignas(16) Bytes16 {
  uint64_t low, high;
};
// Calls visit.template operator()<T>() -> absl::Status with a type of 1, 2, 4, 8 or 16 bytes, for
// kernels that only move elements.
template <typename Visitor>
absl::Status VisitBySize(int64_t size, Visitor&& visit) {
  return tessera::VisitBySize<Bytes16>(size, visit);
}

inline int64_t ElementSize(const Tensor& tensor) {
  return static_cast<int64_t>(DTypeSize(tensor.dtype()));
}

// The elements of a tensor, which the host may not touch.
template <typename T>
T* DataOf(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.address());
}

}  // namespace tessera::cuda
