// WireTensorWriter: a Tensor as the bytes of a TensorProto, without a message between.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_tensor_field.h"

namespace tessera::serving {

// Writes the bytes that TensorToProto() and the protocol buffer library would write: a head (dtype,
// shape, and what announces the values), then the values. Values whose bytes are the tensor's own
// need not be copied: tensor() has them.
//
//   ASSIGN_OR_RETURN(const auto writer, WireTensorWriter::Create(tensor, form));
//   char* end = writer.WriteHead(out);
//   if (!writer.has_own_bytes()) end = writer.WriteValues(end);
class WireTensorWriter {
 public:
  // Errors: those of TensorToProto().
  static absl::StatusOr<WireTensorWriter> Create(Tensor tensor, TensorProtoForm form);

  const Tensor& tensor() const { return tensor_; }
  // Bytes of head and values.
  uint64_t head_size() const { return head_size_; }
  uint64_t values_size() const { return values_size_; }
  uint64_t size() const { return head_size_ + values_size_; }
  // True if the values are tensor().raw() and its size_bytes().
  bool has_own_bytes() const { return values_ == Values::kOwnBytes; }

  // These return the end of what they wrote.
  char* WriteHead(char* out) const;
  char* WriteValues(char* out) const;

 private:
  enum class Values { kNothing, kOwnBytes, kVarints, kStrings, kMessage };

  explicit WireTensorWriter(Tensor tensor) : tensor_(std::move(tensor)) {}
  void Measure();

  Tensor tensor_;
  Values values_ = Values::kNothing;
  uint32_t field_ = 0;       // of the values
  uint64_t shape_size_ = 0;  // of the TensorShapeProto
  uint64_t head_size_ = 0;
  uint64_t values_size_ = 0;
  std::string message_;  // of elements that only the library can write: everything
};

}  // namespace tessera::serving
