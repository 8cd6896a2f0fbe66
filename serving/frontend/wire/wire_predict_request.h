// WirePredictRequest: reads a PredictRequest from the bytes of a message.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_message.h"
#include "serving/frontend/wire/wire_reader.h"
#include "serving/frontend/wire/wire_tensor.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Reads the names and the positions of the tensors. A tensor is decoded when it is asked for,
// without a message object in between. Accepts and refuses the same bytes as the protocol buffer
// library.
//
//   WirePredictRequest request;
//   RETURN_IF_ERROR(request.Read(message));
//   auto input = [&](size_t i) { return request.DecodeInput(i); };
//   handler.Predict(model, request.View(input), options, &result);
//
// Returned values are views of this object, except tensors, which keep the memory that they need.
class WirePredictRequest {
 public:
  // An input of more than `max_tensor_bytes` is an error.
  explicit WirePredictRequest(int64_t max_tensor_bytes = kMaxTensorProtoBytes)
      : max_tensor_bytes_(max_tensor_bytes) {}
  WirePredictRequest(const WirePredictRequest&) = delete;
  WirePredictRequest& operator=(const WirePredictRequest&) = delete;

  // Must be called once. Errors: INTERNAL if the bytes are no PredictRequest, as from gRPC.
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
  // Returns the size of the message.
  size_t size_bytes() const { return size_bytes_; }

 private:
  bool ReadRequest(WireReader in);
  bool MergeModelSpec(WireReader in, int depth);
  bool MergeVersion(WireReader in, int depth);
  bool ReadInput(WireReader entry, int depth);
  bool ReadText(WireReader& in, absl::string_view* text);
  // Returns the position of the input of this name, which is added if there is none.
  size_t PositionOf(absl::string_view name);

  const int64_t max_tensor_bytes_;
  size_t size_bytes_ = 0;
  WireMessage message_;
  std::deque<std::string> texts_;  // strings that lie in several slices
  bool has_model_spec_ = false;
  ModelSpec model_spec_;
  absl::InlinedVector<absl::string_view, 8> names_;
  absl::InlinedVector<WireTensor, 2> tensors_;
  absl::flat_hash_map<absl::string_view, size_t> positions_;  // used for many names
  absl::InlinedVector<absl::string_view, 8> filter_;
};

}  // namespace tessera::serving
