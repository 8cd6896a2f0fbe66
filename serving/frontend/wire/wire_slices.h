// SliceWriter: a gRPC message of bytes that are written and of tensors whose memory it shares.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>

#include "absl/container/inlined_vector.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

//   SliceWriter slices(written_bytes);  // without those of shared tensors
//   char* out = WriteHead(slices.begin());
//   slices.Share(out, tensor);
//   out = WriteMore(out);
//   return slices.Finish(out);
class SliceWriter {
 public:
  // One slice holds all that is written. It is cut where shared tensors come in between.
  explicit SliceWriter(size_t written_bytes);

  char* begin() { return begin_; }
  // Lets the bytes of a tensor follow what was written until `out`. They must not be written any
  // more.
  void Share(char* out, const Tensor& tensor);
  // Returns the message, whose last written byte is before `out`. Must be called once, at last.
  grpc::ByteBuffer Finish(char* out);

 private:
  const grpc::Slice written_;
  char* const begin_;
  const char* cut_;
  absl::InlinedVector<grpc::Slice, 4> slices_;
};

}  // namespace tessera::serving
