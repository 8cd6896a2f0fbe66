// Maps a dtype to the C++ type that computes with it.
#pragma once

#include <complex>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Calls visit.template operator()<T>() -> absl::Status for real numbers: half, bfloat16, float,
// double and all plain integers. Errors: UNIMPLEMENTED for other dtypes.
template <typename Visitor>
absl::Status VisitRealType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kFloat:
      return visit.template operator()<float>();
    case DType::kDouble:
      return visit.template operator()<double>();
    case DType::kHalf:
      return visit.template operator()<Eigen::half>();
    case DType::kBfloat16:
      return visit.template operator()<Eigen::bfloat16>();
    case DType::kInt8:
      return visit.template operator()<int8_t>();
    case DType::kInt16:
      return visit.template operator()<int16_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kInt64:
      return visit.template operator()<int64_t>();
    case DType::kUint8:
      return visit.template operator()<uint8_t>();
    case DType::kUint16:
      return visit.template operator()<uint16_t>();
    case DType::kUint32:
      return visit.template operator()<uint32_t>();
    case DType::kUint64:
      return visit.template operator()<uint64_t>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("not implemented for elements of ", DTypeName(dtype)));
  }
}

// Does what VisitRealType() does, and visits complex numbers too.
template <typename Visitor>
absl::Status VisitNumericType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kComplex64:
      return visit.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return visit.template operator()<std::complex<double>>();
    default:
      return VisitRealType(dtype, std::forward<Visitor>(visit));
  }
}

}  // namespace tessera
