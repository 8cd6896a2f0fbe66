// Conversion of Tensor from and to tensorflow.TensorProto, and of Shape from and to
// tensorflow.TensorShapeProto. No other file converts them.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tensorflow {
class TensorProto;
class TensorShapeProto;
}  // namespace tensorflow

namespace tessera {

// The size limit of a serialised message in bytes, and so of a tensor in one whose values are all
// written out.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr int64_t kMaxTensorProtoBytes = 1 << 16;  // running out of memory is not a finding
#else
inline constexpr int64_t kMaxTensorProtoBytes = int64_t{2} << 30;
#endif

// Accepts every legal form: tensor_content, or the typed field of the dtype. If there are too few
// values, the last one is repeated, or zeros are taken if there is none; surplus values are
// ignored. Sizes are checked before memory is allocated: a malicious proto costs no more than its
// own bytes plus the size of its shape and of the repeated value, which `max_bytes` limits. Errors:
// INVALID_ARGUMENT for a missing or unknown dtype, bad dimensions, or tensor_content of the wrong
// size; RESOURCE_EXHAUSTED above max_bytes.
absl::StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto,
                                       int64_t max_bytes = kMaxTensorProtoBytes,
                                       Allocator* allocator = HeapAllocator());
// Takes over the strings and a large tensor_content instead of copying them, so that the payload of
// a request is copied only once. The alignment of the tensor may then be only 16 bytes. *proto is
// unspecified afterwards, also after an error.
absl::StatusOr<Tensor> TensorFromProto(tensorflow::TensorProto&& proto,
                                       int64_t max_bytes = kMaxTensorProtoBytes);

enum class TensorProtoForm {
  kTypedFields,    // float_val and so on, with every element written out
  kTensorContent,  // raw bytes; strings, which are no raw bytes, go to string_val
};
// Overwrites *proto. Resource handles keep only their device, container, name and type.
// Errors: UNIMPLEMENTED for variant elements that have no serialised form.
absl::Status TensorToProto(const Tensor& tensor, TensorProtoForm form,
                           tensorflow::TensorProto* proto);

// Errors: INVALID_ARGUMENT for dimensions below -1 or an overflowing product.
absl::StatusOr<PartialShape> PartialShapeFromProto(const tensorflow::TensorShapeProto& proto);
// Errors: those of PartialShapeFromProto(), and INVALID_ARGUMENT for unknown dimensions or rank.
absl::StatusOr<Shape> ShapeFromProto(const tensorflow::TensorShapeProto& proto);
void ShapeToProto(const PartialShape& shape, tensorflow::TensorShapeProto* proto);

}  // namespace tessera
