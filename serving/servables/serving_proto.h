// Converts TensorFlow Serving's messages to the terms of inference_request.h and back. No other
// file does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/core/servable_id.h"
#include "serving/core/servable_state.h"
#include "serving/servables/inference_request.h"
#include "tensorflow_serving/apis/classification.pb.h"
#include "tensorflow_serving/apis/get_model_status.pb.h"
#include "tensorflow_serving/apis/inference.pb.h"
#include "tensorflow_serving/apis/input.pb.h"
#include "tensorflow_serving/apis/model.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tensorflow_serving/apis/regression.pb.h"

namespace tessera::serving {

// Returns a view of the message. A `version` without a value asks for version 0.
ModelSpec ViewModelSpec(const tensorflow::serving::ModelSpec& proto);

// Reads a tensorflow.serving.PredictRequest as a PredictRequest.
//
//   ProtoPredictRequest request(&proto);
//   auto input = [&](size_t i) { return request.DecodeInput(i); };
//   handler.Predict(model, request.View(input), options, &result);
class ProtoPredictRequest {
 public:
  // Keeps a view of *proto. Decoding a tensor takes its bytes out of the message.
  explicit ProtoPredictRequest(tensorflow::serving::PredictRequest* proto);

  PredictRequest View(absl::FunctionRef<absl::StatusOr<Tensor>(size_t)> input) const {
    return {.signature_name = signature_name_,
            .input_names = names_,
            .input = input,
            .output_filter = filter_};
  }
  // Errors: INVALID_ARGUMENT "tensor parsing error: NAME: ...".
  absl::StatusOr<Tensor> DecodeInput(size_t i) const;

 private:
  const absl::string_view signature_name_;
  absl::InlinedVector<absl::string_view, 8> names_;
  absl::InlinedVector<tensorflow::TensorProto*, 8> tensors_;
  absl::InlinedVector<absl::string_view, 8> filter_;
};

// Returns the serialized examples as a string tensor, which has no elements if there are none. If
// the input has a context, it is put in front of each example.
// Errors: INVALID_ARGUMENT for more than `max_bytes`, which a context that is repeated for many
// examples soon makes; RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> ExamplesFromInput(const tensorflow::serving::Input& input,
                                         int64_t max_bytes = kMaxTensorProtoBytes);

// Names the version and the signature that answered.
void FillModelSpec(const ServableId& id, absl::string_view signature_name,
                   tensorflow::serving::ModelSpec* proto);
// Adds the states of versions to a message.
void FillModelStatus(absl::Span<const ServableState> states,
                     tensorflow::serving::GetModelStatusResponse* proto);
// In the message U+FFFD takes the place of bytes that are not UTF-8, because readers of protocol
// buffers reject a whole message for one such string.
void FillStatus(const absl::Status& status, tensorflow::serving::StatusProto* proto);
void FillClassification(const ClassifyResult& result,
                        tensorflow::serving::ClassificationResult* proto);
void FillRegression(const RegressResult& result, tensorflow::serving::RegressionResult* proto);
// Adds the results of the tasks of a MultiInference, in their order, from this version of the
// model.
void FillMultiInference(const ServableId& id, absl::Span<const InferenceResult> results,
                        tensorflow::serving::MultiInferenceResponse* proto);
// Adds serialized examples, as ExamplesFromInput() returns them.
void FillInput(const Tensor& examples, tensorflow::serving::Input* proto);

}  // namespace tessera::serving
