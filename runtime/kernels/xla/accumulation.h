// The types in which XLA's contractions sum products: float for half and bfloat16, and for integers
// 64 bits without a sign, whose low bits are those of every narrower sum that wraps.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// Calls visit.template operator()<Sum>() -> absl::Status with the type of sums for results of
// `dtype`. Errors: UNIMPLEMENTED for dtypes that are no numbers.
template <typename Visitor>
absl::Status VisitSumType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kHalf:
    case DType::kBfloat16:
    case DType::kFloat:
      return visit.template operator()<float>();
    case DType::kDouble:
      return visit.template operator()<double>();
    case DType::kComplex64:
      return visit.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return visit.template operator()<std::complex<double>>();
    default:
      return VisitRealType(dtype,
                           [&]<typename T>() { return visit.template operator()<uint64_t>(); });
  }
}

// Returns `value` as a Sum; a real number becomes a complex one without an imaginary part.
template <typename Sum, typename T>
Sum AsSum(const T& value) {
  if constexpr (kIsComplex<Sum> && !kIsComplex<T>) {
    return Sum(static_cast<typename Sum::value_type>(value));
  } else {
    return static_cast<Sum>(value);
  }
}

// Returns the elements of `tensor` at the positions `order` as a vector of Sum.
// Errors: INVALID_ARGUMENT if Sum does not hold the elements: complex numbers as real ones, and
// fractions as integers.
template <typename Sum>
absl::StatusOr<Tensor> Widened(KernelContext& ctx, const Tensor& tensor,
                               absl::Span<const int64_t> order) {
  ASSIGN_OR_RETURN(Tensor wide,
                   ctx.AllocateTemp(DTypeOf<Sum>, {static_cast<int64_t>(order.size())}));
  Sum* const to = wide.data<Sum>();
  RETURN_IF_ERROR(VisitNumericType(tensor.dtype(), [&]<typename T>() -> absl::Status {
    if constexpr ((kIsComplex<T> && !kIsComplex<Sum>) ||
                  (std::is_integral_v<Sum> && !std::is_integral_v<T>)) {
      return absl::InvalidArgumentError(absl::StrCat("elements of ", DTypeName(tensor.dtype()),
                                                     " cannot be multiplied to ",
                                                     DTypeName(ctx.output_type(0))));
    } else {
      const T* const from = tensor.data<T>();
      for (size_t i = 0; i < order.size(); ++i) to[i] = AsSum<Sum>(from[order[i]]);
      return absl::OkStatus();
    }
  }));
  return wide;
}

// Writes sums, rounded or wrapped, to a tensor whose dtype has the sum type Sum.
template <typename Sum>
absl::Status Narrow(const Tensor& sums, Tensor* output) {
  return VisitNumericType(output->dtype(), [&]<typename T>() -> absl::Status {
    if constexpr (kIsComplex<T> == kIsComplex<Sum> &&
                  std::is_integral_v<T> == std::is_integral_v<Sum>) {
      const Sum* const from = sums.data<Sum>();
      T* const to = output->data<T>();
      for (int64_t i = 0; i < output->num_elements(); ++i) to[i] = static_cast<T>(from[i]);
    }
    return absl::OkStatus();
  });
}

}  // namespace tessera
