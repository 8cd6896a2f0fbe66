// WireTensorWriter: writes a Tensor as a serialized TensorProto, without a message object in
// between.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_tensor_field.h"

namespace tessera::serving {

// Writes the same bytes as TensorToProto() with the protocol buffer library: a head (dtype, shape,
// and the tag and length of the values), then the values. Values that are written as the tensor's
// own bytes need not be copied, because tensor() holds them.
//
//   ASSIGN_OR_RETURN(const auto writer, WireTensorWriter::Create(tensor, form));
//   char* end = writer.WriteHead(out);
//   if (!writer.has_own_bytes()) end = writer.WriteValues(end);
class WireTensorWriter {
 public:
  // Errors: those of TensorToProto().
  static absl::StatusOr<WireTensorWriter> Create(Tensor tensor, TensorProtoForm form);

  const Tensor& tensor() const { return tensor_; }
  uint64_t values_size() const { return values_size_; }
  // Returns the number of bytes of head and values.
  uint64_t size() const { return head_size_ + values_size_; }
  // Returns true if the values are the size_bytes() bytes at tensor().raw().
  bool has_own_bytes() const { return values_ == Values::kOwnBytes; }

  // These return the end of the written bytes.
  char* WriteHead(char* out) const;
  char* WriteValues(char* out) const;

 private:
  enum class Values { kNothing, kOwnBytes, kVarints, kStrings, kMessage };

  explicit WireTensorWriter(Tensor tensor) : tensor_(std::move(tensor)) {}
  void Measure();

  Tensor tensor_;
  Values values_ = Values::kNothing;
  uint32_t field_ = 0;       // field number of the values
  uint64_t shape_size_ = 0;  // bytes of the TensorShapeProto
  uint64_t head_size_ = 0;
  uint64_t values_size_ = 0;
  std::string message_;  // all bytes, for elements that only the library can write
};

}  // namespace tessera::serving
