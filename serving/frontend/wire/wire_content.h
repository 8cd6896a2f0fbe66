// Tensors from their elements as bytes, which share the memory of the message where that pays.
#pragma once

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/wire/wire_reader.h"

namespace tessera::serving {

// Returns a reference that keeps the memory at an address of the message alive.
using KeepAlive = absl::FunctionRef<std::shared_ptr<const void>(const char* address)>;

// A copy of fewer bytes costs less than a reference to the memory that has them.
inline constexpr size_t kMinSharedBytes = 4096;

// Returns whether a tensor may use these bytes as its elements: they are many, are aligned, and all
// are values of the dtype.
bool MaySharePiece(DType dtype, absl::string_view piece);
// Returns a tensor whose elements are the bytes of `piece`. It cannot be written in place, because
// others may hold the message as well. Requires MaySharePiece().
Tensor SharePiece(DType dtype, const Shape& shape, absl::string_view piece, KeepAlive keep);

// Returns a tensor with the elements that are left in `content`, row by row, little-endian. Shares
// them if they are contiguous and MaySharePiece(). Requires a trivially copyable dtype, and as many
// bytes as the tensor has. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> TensorFromContent(DType dtype, const Shape& shape, WireReader content,
                                         KeepAlive keep);

}  // namespace tessera::serving
