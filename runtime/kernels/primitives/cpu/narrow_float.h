// half and bfloat16 as storage formats: kernels compute in float, a block at a time.
#pragma once

#include <cstdint>

#include "Eigen/Core"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/cpu/strided_loop.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Converts `count` contiguous elements. To the narrow types it rounds to the nearest, ties to even;
// NaN stays NaN.
void ToFloat(const Eigen::half* from, float* to, int64_t count);
void ToFloat(const Eigen::bfloat16* from, float* to, int64_t count);
void FromFloat(const float* from, Eigen::half* to, int64_t count);
void FromFloat(const float* from, Eigen::bfloat16* to, int64_t count);

inline bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kHalf || dtype == DType::kBfloat16;
}

// Runs `inner`, a loop over float operands, on a block in which some operands have narrow types.
// `dtypes` has one entry for each operand. Operands of other types are passed on unchanged.
void RunAsFloat(const LoopBlock& block, absl::Span<const DType> dtypes, InnerLoop inner);

// These convert whole tensors, for kernels that do not work on blocks. They require a narrow dtype,
// and `to` must have the shape of `from`.
absl::StatusOr<Tensor> WidenToFloat(const Tensor& from, Allocator* allocator);
void NarrowFromFloat(const Tensor& from, Tensor* to);

}  // namespace tessera
