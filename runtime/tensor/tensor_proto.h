// Tensor <-> tensorflow.TensorProto, Shape <-> tensorflow.TensorShapeProto: the only place that
// converts them.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tensorflow {
class TensorProto;
class TensorShapeProto;
}  // namespace tensorflow

namespace tessera {

// What a serialised message can hold at all, and so the most that a tensor in one needs if its
// values are written out.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr int64_t kMaxTensorProtoBytes = 1 << 16;  // running out of memory is no finding
#else
inline constexpr int64_t kMaxTensorProtoBytes = int64_t{2} << 30;
#endif

// Accepts every legal form: tensor_content, or the dtype's typed field; too few values: the last
// one fills the rest, none: zeros; surplus values are ignored. Sizes are checked before memory is
// taken, so a hostile proto costs no more than its own bytes plus what its shape asks for and what
// repeating its last value takes, together bounded by `max_bytes`.
// Errors: INVALID_ARGUMENT for a missing or unknown dtype, bad dimensions, or tensor_content of the
// wrong size; RESOURCE_EXHAUSTED above max_bytes.
absl::StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto,
                                       int64_t max_bytes = kMaxTensorProtoBytes);
// Takes over large tensor_content and the strings instead of copying them, so that a request's
// payload is copied once, off the wire. The tensor may then be aligned to 16 bytes only.
// *proto is unspecified afterwards, also on an error.
absl::StatusOr<Tensor> TensorFromProto(tensorflow::TensorProto&& proto,
                                       int64_t max_bytes = kMaxTensorProtoBytes);

enum class TensorProtoForm {
  kTypedFields,    // float_val and so on, every element written out
  kTensorContent,  // raw bytes; strings, which have none, go to string_val
};
// Overwrites *proto. Resource handles keep device, container, name and type only.
// Errors: UNIMPLEMENTED for variant elements that have no serialised form.
absl::Status TensorToProto(const Tensor& tensor, TensorProtoForm form,
                           tensorflow::TensorProto* proto);

// Errors: INVALID_ARGUMENT for dimensions below -1 or an overflowing product.
absl::StatusOr<PartialShape> PartialShapeFromProto(const tensorflow::TensorShapeProto& proto);
// As above, and INVALID_ARGUMENT for unknown dimensions or rank.
absl::StatusOr<Shape> ShapeFromProto(const tensorflow::TensorShapeProto& proto);
void ShapeToProto(const PartialShape& shape, tensorflow::TensorShapeProto* proto);

}  // namespace tessera
