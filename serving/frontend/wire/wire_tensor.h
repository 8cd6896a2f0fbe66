// WireTensor: a TensorProto as it lies in a request, made into a Tensor without a message between.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/wire/wire_reader.h"

namespace tessera::serving {

//   WireTensor tensor;
//   if (!tensor.Merge(bytes, depth)) return MalformedRequest();
//   ASSIGN_OR_RETURN(Tensor decoded, tensor.Decode(max_bytes, keep));
//
// Merge() looks at every byte that the protocol buffer library would look at, but keeps places
// only; Decode() reads the values, straight into the tensor. Both agree with the library and with
// TensorFromProto(): in what is refused, in the tensors, and in the errors' texts.
class WireTensor {
 public:
  // Keeps the memory around an address of the message alive.
  using KeepAlive = absl::FunctionRef<std::shared_ptr<const void>(const char* address)>;

  // Adds an occurrence of the field: of single values the last one counts, lists grow. Messages and
  // groups may nest `depth` deep below it. False if it is no TensorProto; then this is of no more
  // use. The bytes must outlive this.
  bool Merge(WireReader message, int depth);

  // Values that lie in one piece, aligned for their type and large, are not copied: the tensor then
  // shares the message's memory, and nobody may write there.
  // Errors: those of TensorFromProto().
  absl::StatusOr<Tensor> Decode(int64_t max_bytes, KeepAlive keep) const;

 private:
  // Decode() leaves tensors of more dimensions, and whatever else is rare, to the library.
  static constexpr int kMaxDims = 8;

  bool MergeShape(WireReader shape, int depth);
  bool MergeDim(WireReader dim, int depth);
  // False if the layout is rare or wrong, for TensorFromProto() to sort out.
  bool HasUsualLayout(int64_t max_bytes, int64_t* num_elements) const;
  absl::StatusOr<Tensor> DecodeMessage(int64_t max_bytes) const;
  absl::StatusOr<Tensor> DecodeContent(const Shape& shape, KeepAlive keep) const;
  absl::StatusOr<Tensor> DecodeFixed(const Shape& shape, KeepAlive keep) const;
  void ReadVarints(Tensor& tensor) const;
  template <typename Store>
  void ReadVarintsWith(Store store, Tensor& tensor) const;
  absl::StatusOr<Tensor> DecodeStrings(const Shape& shape, int64_t max_bytes) const;

  DType dtype() const { return static_cast<DType>(dtype_); }
  // Calls visit(tag, reader) at each value, or list of values, of a field; `visit` reads it.
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
