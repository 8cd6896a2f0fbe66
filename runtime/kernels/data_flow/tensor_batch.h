// Joining tensors along a new first dimension.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Joins tensors of `dtype`, whose shapes agree with `declared`, along a new first dimension. With
// `pads`, tensors of different shapes get zeros, or empty strings, at their ends. Without tensors,
// unknown dimensions are 0. The memory is `allocator`'s, the host's. Errors: INVALID_ARGUMENT if
// shapes or, with `pads`, ranks differ.
absl::StatusOr<Tensor> JoinTensors(DType dtype, const PartialShape& declared,
                                   absl::Span<const Tensor* const> tensors, bool pads,
                                   Allocator* allocator);

}  // namespace tessera
