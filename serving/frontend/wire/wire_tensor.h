// WireTensor: decodes a serialized TensorProto into a Tensor, without a message object in between.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/wire/wire_content.h"
#include "serving/frontend/wire/wire_reader.h"

namespace tessera::serving {

//   WireTensor tensor;
//   if (!tensor.Merge(bytes, depth)) return MalformedRequest();
//   ASSIGN_OR_RETURN(Tensor decoded, tensor.Decode(max_bytes, keep));
//
// Merge() checks every byte that the protocol buffer library would check, but keeps only positions.
// Decode() reads the values directly into the tensor. Together they refuse the same bytes as the
// library and TensorFromProto(), and give the same tensors and error messages.
class WireTensor {
 public:
  // Merges another occurrence of the field: a single value replaces the one before, and lists are
  // appended. Messages and groups may nest `depth` deep below it. Returns false if the bytes are no
  // TensorProto; the object must not be used after that. The bytes must outlive this object.
  bool Merge(WireReader message, int depth);

  // Large values that are contiguous and aligned for their type are not copied. The tensor then
  // shares the memory of the message, which must not be written any more. Errors: those of
  // TensorFromProto().
  absl::StatusOr<Tensor> Decode(int64_t max_bytes, KeepAlive keep) const;

 private:
  // Decode() leaves tensors of more dimensions, and other rare cases, to the library.
  static constexpr int kMaxDims = 8;

  bool MergeShape(WireReader shape, int depth);
  bool MergeDim(WireReader dim, int depth);
  // Returns false if the layout is rare or wrong, in which case TensorFromProto() must decode it.
  bool HasUsualLayout(int64_t max_bytes, int64_t* num_elements) const;
  absl::StatusOr<Tensor> DecodeMessage(int64_t max_bytes) const;
  absl::StatusOr<Tensor> DecodeFixed(const Shape& shape, KeepAlive keep) const;
  void ReadVarints(Tensor& tensor) const;
  template <typename Store>
  void ReadVarintsWith(Store store, Tensor& tensor) const;
  absl::StatusOr<Tensor> DecodeStrings(const Shape& shape, int64_t max_bytes) const;

  DType dtype() const { return static_cast<DType>(dtype_); }
  // Calls visit(tag, reader) at each value, or packed list of values, of a field. `visit` must read
  // it.
  template <typename Visit>
  void ForEach(uint32_t field, Visit visit) const;

  absl::InlinedVector<WireReader, 1> occurrences_;
  WireReader content_;
  int32_t dtype_ = 0;
  bool unknown_rank_ = false;
  bool has_too_many_dims_ = false;
  absl::InlinedVector<int64_t, kMaxDims> dims_;
};

}  // namespace tessera::serving
