// TensorFlow Serving's messages <-> the runtime's terms: the only place that converts them.
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
#include "serving/servables/inference_request.h"
#include "tensorflow_serving/apis/classification.pb.h"
#include "tensorflow_serving/apis/inference.pb.h"
#include "tensorflow_serving/apis/input.pb.h"
#include "tensorflow_serving/apis/model.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tensorflow_serving/apis/regression.pb.h"

namespace tessera::serving {

// Views the message. A `version` without a value asks for version 0.
ModelSpec ViewModelSpec(const tensorflow::serving::ModelSpec& proto);

// A PredictRequest's inputs and filter.
//
//   ProtoPredictRequest inputs(&proto);
//   auto input = [&](size_t i) { return inputs.DecodeInput(i); };
//   handler.Predict(spec, inputs.View(input), options, &response);
class ProtoPredictRequest {
 public:
  // Views *proto. Decoding a tensor takes over its bytes.
  explicit ProtoPredictRequest(tensorflow::serving::PredictRequest* proto);

  PredictRequest View(absl::FunctionRef<absl::StatusOr<Tensor>(size_t)> input) const {
    return {.signature_name = {}, .input_names = names_, .input = input, .output_filter = filter_};
  }
  // Errors: INVALID_ARGUMENT "tensor parsing error: NAME: ...".
  absl::StatusOr<Tensor> DecodeInput(size_t i) const;

 private:
  absl::InlinedVector<absl::string_view, 8> names_;
  absl::InlinedVector<tensorflow::TensorProto*, 8> tensors_;
  absl::InlinedVector<absl::string_view, 8> filter_;
};

// Examples as a string tensor, each with the context, if there is one, in front. No examples: no
// elements. Errors: INVALID_ARGUMENT for more than `max_bytes`, which a context of some bytes for
// each of many examples soon makes; RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> ExamplesFromInput(const tensorflow::serving::Input& input,
                                         int64_t max_bytes = kMaxTensorProtoBytes);

// Name as asked for, the version and signature that answered.
void FillModelSpec(absl::string_view name, int64_t version, absl::string_view signature_name,
                   tensorflow::serving::ModelSpec* proto);
void FillClassification(const ClassifyResult& result,
                        tensorflow::serving::ClassificationResult* proto);
void FillRegression(const RegressResult& result, tensorflow::serving::RegressionResult* proto);

}  // namespace tessera::serving
