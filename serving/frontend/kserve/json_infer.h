// Inference requests and responses as bodies of HTTP: JSON, and with the binary tensor data
// extension the raw elements of tensors after it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/kserve/infer.h"
#include "serving/frontend/kserve/json_numeric_infer.h"

namespace tessera::serving {

// A request as read. Bodies may be hostile: of any size up to kMaxJsonBytes, with any text.
//
//   JsonInferRequest request;
//   RETURN_IF_ERROR(request.Read(body, header_length, model->info()));
//   auto read = [&](size_t i, DType d, const Shape& s) { return request.Elements(i, d, s); };
class JsonInferRequest {
 public:
  // Reads a body whose first `json_length` bytes are JSON; nullopt: all of it. A length of zero
  // means that the whole body is the raw content of the only input of `model`, whose shape must
  // have one open dimension at most. Must be called once. Errors: INVALID_ARGUMENT for anything but
  // a request; values of `data` are checked by Elements().
  absl::Status Read(std::string body, std::optional<uint64_t> json_length, const ModelInfo& model);

  const InferRequest& request() const { return request_; }
  // Returns the elements of an input. Numbers from binary data share the memory of the body where
  // TensorFromContent() does. Errors: those of TensorFromRaw() and TensorFromJson().
  absl::StatusOr<Tensor> Elements(size_t i, DType dtype, const Shape& shape) const;
  // Returns whether an output of the answer is to be binary.
  bool WantsBinary(absl::string_view output) const;

 private:
  absl::Status ReadJson(absl::string_view json, absl::string_view binary);
  absl::Status ReadDocument(absl::string_view json, absl::string_view binary);
  absl::Status FindBinaryOutputs();
  absl::Status ReadInput(const JsonValue& value, absl::string_view* binary);
  absl::Status ReadRaw(const ModelInfo& model);

  std::shared_ptr<const std::string> body_;
  JsonDocument json_;
  InferRequest request_;
  // The data of each input: its member `data`, the text of that member, or its bytes.
  absl::InlinedVector<std::variant<const JsonValue*, JsonNumbersText, absl::string_view>, 2>
      elements_;
  bool binary_outputs_ = false;                                    // unless an output says else
  absl::InlinedVector<std::optional<bool>, 2> binary_of_outputs_;  // as of request_.outputs
};

// The body of a response.
struct JsonInferResponse {
  std::string body;
  // Length of the JSON if binary data follows it; nullopt if the body is JSON alone.
  std::optional<uint64_t> json_length;
};

// Errors: INVALID_ARGUMENT for an output without a form in JSON that was not asked for as binary.
absl::StatusOr<JsonInferResponse> WriteInferResponse(const JsonInferRequest& request,
                                                     const ServableId& model,
                                                     const PredictResult& result);

}  // namespace tessera::serving
