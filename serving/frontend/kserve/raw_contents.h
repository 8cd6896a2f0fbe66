// Elements of tensors as the raw bytes of KServe's protocol: row by row, little-endian, without
// padding; each element of BYTES after its length in four bytes.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/wire/wire_content.h"

namespace tessera::serving {

// Reads all bytes that are left in `contents`. Numbers share the memory of the message where
// TensorFromContent() does. Takes no more memory than the bytes call for, whatever the shape says.
// Errors: INVALID_ARGUMENT if the bytes are more or fewer than the shape needs; RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> TensorFromRaw(DType dtype, const Shape& shape, WireReader contents,
                                     KeepAlive keep);

// Returns the number of raw bytes of a tensor.
uint64_t RawSize(const Tensor& tensor);
// Writes the raw bytes of a tensor to `out`, and returns their end.
char* WriteRaw(const Tensor& tensor, char* out);

}  // namespace tessera::serving
