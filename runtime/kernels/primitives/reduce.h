// Reductions over any axes of a tensor.
//
//   std::unique_ptr<Reduce> sum = Primitive<Reduce>(build)(ReduceKind::kSum, DType::kFloat);
//   sum->Run(ctx, x, /*reduced=*/{false, true}, y);  // x is [rows, columns], y is [rows]
#pragma once

#include <memory>

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

enum class ReduceKind {
  kSum,
  kMean,
  kProd,
  kEuclideanNorm,     // sqrt(sum(|x|^2)); sqrt(sum(x^2)) of real numbers
  kHalfSumOfSquares,  // sum(x^2) / 2
  kBiasGradient,      // kSum, with the roundings of TensorFlow's BiasAddGrad
  kMax,
  kMin,
  kAll,
  kAny,
};

// One kind of reduction for one dtype. kBiasGradient and the first four kinds have all numeric
// dtypes, kHalfSumOfSquares those of floating point, kMax and kMin those of real numbers, and kAll
// and kAny bool. Thread-safe.
class Reduce {
 public:
  using Function = std::unique_ptr<Reduce>(ReduceKind kind, DType dtype);
  virtual ~Reduce() = default;

  // Reduces the axes of `x` for which `reduced`, which has one entry for each axis, is true. `y`
  // has one element for each index of the other axes, in row-major order. It shares no memory with
  // `x`.
  //
  // half and bfloat16 accumulate in float, every other dtype in itself. On a CPU they round where
  // TensorFlow does: half after each operation, unless it is a kBiasGradient or a mean of more
  // elements than half can count, and bfloat16 in kProd, kBiasGradient and kHalfSumOfSquares. The
  // order of the additions depends on the shape and the axes only, so that a device always gives
  // the same bits. kMax and kMin are NaN if any element is NaN. Without elements, sums are 0, kMean
  // is NaN (0 for integers and complex numbers), kProd is 1, kAll is true, kAny is false, and kMax
  // and kMin are the least and the greatest value of the dtype, including infinity.
  virtual absl::Status Run(KernelContext& ctx, const Tensor& x, absl::Span<const bool> reduced,
                           Tensor* y) const = 0;
};

}  // namespace tessera
