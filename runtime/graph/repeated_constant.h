// Large constants that are one value, as a GraphDef holds them: a few bytes and a shape.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {

// The size in bytes from which on such a constant takes less memory than its elements.
inline constexpr int64_t kMinRepeatedBytes = int64_t{4} << 20;
// The largest size in bytes. Other constants may have kMaxTensorProtoBytes.
inline constexpr int64_t kMaxRepeatedBytes = int64_t{64} << 30;

// Returns the tensor of a proto which gives one value of a plain dtype for kMinRepeatedBytes or
// more: the initial value of a large variable, such as an optimizer's slot, which a graph that is
// served carries and never runs. Its pages are the same few ones over and over, at most a sixteenth
// of its size or 64 MiB, and become its own when they are written.
//
// Returns nothing for any other proto, or if the system does not give such pages.
// Errors: those of TensorFromProto() for the one value; RESOURCE_EXHAUSTED above kMaxRepeatedBytes.
absl::StatusOr<std::optional<Tensor>> RepeatedConstant(const tensorflow::TensorProto& proto);

}  // namespace tessera
