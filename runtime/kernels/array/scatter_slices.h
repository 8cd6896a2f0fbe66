// The inner loop of all scatters: slices of updates combined into slices of a tensor.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

enum class ScatterOp { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

// From the last word of an op's name: "ResourceScatterNdAdd", "TensorScatterUpdate".
ScatterOp ScatterOpFromName(absl::string_view op_name);

// target[slices[i]] = target[slices[i]] OP updates[i] in order of i, where a slice has `slice`
// elements; negative entries of `slices` (int64) are skipped. If `updates` has one element and is a
// scalar, it stands for all.
// The target must be writable and may not share its memory with the updates; slices must be in
// range. Errors: INVALID_ARGUMENT for an integer division by zero; UNIMPLEMENTED if the op is not
// defined for the dtype.
absl::Status ScatterSlices(ScatterOp op, const Tensor& slices, int64_t slice, const Tensor& updates,
                           Tensor* target);

}  // namespace tessera
