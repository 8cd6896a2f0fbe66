#include "serving/frontend/wire/wire_content.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/tensor/raw_elements.h"

namespace tessera::serving {

bool MaySharePiece(DType dtype, absl::string_view piece) {
  const size_t alignment = std::min<size_t>(DTypeSize(dtype), 16);
  return piece.size() >= kMinSharedBytes &&
         reinterpret_cast<uintptr_t>(piece.data()) % alignment == 0 && AreElements(dtype, piece);
}

Tensor SharePiece(DType dtype, const Shape& shape, absl::string_view piece, KeepAlive keep) {
  return Tensor::View(dtype, shape,
                      WrapBuffer(keep(piece.data()), const_cast<char*>(piece.data()), piece.size(),
                                 /*writable=*/false));
}

absl::StatusOr<Tensor> TensorFromContent(DType dtype, const Shape& shape, WireReader content,
                                         KeepAlive keep) {
  if (content.IsOnePiece() && MaySharePiece(dtype, content.piece())) {
    return SharePiece(dtype, shape, content.piece(), keep);
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, shape));
  char* out = tensor.mutable_raw();
  while (!content.AtEnd()) {
    const absl::string_view piece = content.piece();
    CopyElements(dtype, piece, out);
    out += piece.size();
    content.Skip(piece.size());
  }
  return tensor;
}

}  // namespace tessera::serving
