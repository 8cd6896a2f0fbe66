// WirePredictRequest: a PredictRequest as it came off the wire.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_reader.h"
#include "serving/frontend/wire/wire_tensor.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Reads names, and finds where tensors are; the tensors are made when they are asked for, without a
// message between. Says of any bytes what the protocol buffer library would say.
//
//   WirePredictRequest request;
//   RETURN_IF_ERROR(request.Read(message));
//   auto input = [&](size_t i) { return request.DecodeInput(i); };
//   handler.Predict(model, request.View(input), options, &result);
//
// What is returned views this object, except tensors, which keep what they need of the message.
class WirePredictRequest {
 public:
  // Inputs of more than this are errors.
  explicit WirePredictRequest(int64_t max_tensor_bytes = kMaxTensorProtoBytes)
      : max_tensor_bytes_(max_tensor_bytes) {}
  WirePredictRequest(const WirePredictRequest&) = delete;
  WirePredictRequest& operator=(const WirePredictRequest&) = delete;

  // Once. Errors: INTERNAL, as gRPC has it for what is no PredictRequest.
  absl::Status Read(const grpc::ByteBuffer& message);

  bool has_model_spec() const { return has_model_spec_; }
  const ModelSpec& model_spec() const { return model_spec_; }
  PredictRequest View(absl::FunctionRef<absl::StatusOr<Tensor>(size_t)> input) const {
    return {.signature_name = model_spec_.signature_name,
            .input_names = names_,
            .input = input,
            .output_filter = filter_};
  }
  // Errors: INVALID_ARGUMENT "tensor parsing error: NAME: ...".
  absl::StatusOr<Tensor> DecodeInput(size_t i) const;
  // Of the message.
  size_t size_bytes() const { return size_bytes_; }

 private:
  bool ReadRequest(WireReader in);
  bool MergeModelSpec(WireReader in, int depth);
  bool MergeVersion(WireReader in, int depth);
  bool ReadInput(WireReader entry, int depth);
  bool ReadText(WireReader& in, absl::string_view* text);
  // Where the input of this name is or, now, is to be.
  size_t PositionOf(absl::string_view name);
  std::shared_ptr<const void> Keep(const char* address) const;

  const int64_t max_tensor_bytes_;
  size_t size_bytes_ = 0;
  absl::InlinedVector<grpc::Slice, 1> slices_;
  absl::InlinedVector<absl::string_view, 1> chunks_;  // what is in them
  std::deque<std::string> texts_;                     // that lie in several pieces
  bool has_model_spec_ = false;
  ModelSpec model_spec_;
  absl::InlinedVector<absl::string_view, 8> names_;
  absl::InlinedVector<WireTensor, 2> tensors_;
  absl::flat_hash_map<absl::string_view, size_t> positions_;  // of many names
  absl::InlinedVector<absl::string_view, 8> filter_;
};

}  // namespace tessera::serving
