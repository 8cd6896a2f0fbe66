#include "serving/servables/serving_proto.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/valid_utf8.h"

namespace tessera::serving {

ModelSpec ViewModelSpec(const tensorflow::serving::ModelSpec& proto) {
  ModelSpec spec{.name = proto.name(), .signature_name = proto.signature_name()};
  switch (proto.version_choice_case()) {
    case tensorflow::serving::ModelSpec::kVersion:
      spec.version = proto.version().value();
      break;
    case tensorflow::serving::ModelSpec::kVersionLabel:
      spec.label = proto.version_label();
      break;
    case tensorflow::serving::ModelSpec::VERSION_CHOICE_NOT_SET:
      break;
  }
  return spec;
}

ProtoPredictRequest::ProtoPredictRequest(tensorflow::serving::PredictRequest* proto)
    : signature_name_(proto->model_spec().signature_name()) {
  for (auto& [name, tensor] : *proto->mutable_inputs()) {
    names_.push_back(name);
    tensors_.push_back(&tensor);
  }
  filter_.assign(proto->output_filter().begin(), proto->output_filter().end());
}

absl::StatusOr<Tensor> ProtoPredictRequest::DecodeInput(size_t i) const {
  absl::StatusOr<Tensor> tensor = TensorFromProto(std::move(*tensors_[i]));
  if (!tensor.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor parsing error: ", names_[i], ": ", tensor.status().message()));
  }
  return tensor;
}

absl::StatusOr<Tensor> ExamplesFromInput(const tensorflow::serving::Input& input,
                                         int64_t max_bytes) {
  const bool with_context = input.has_example_list_with_context();
  const auto& examples =
      with_context ? input.example_list_with_context().examples() : input.example_list().examples();
  std::string context;
  if (with_context) {
    input.example_list_with_context().context().AppendToString(&context);
  }
  // An example has at most 2 GiB, so that the sum cannot overflow.
  int64_t bytes = examples.size() * static_cast<int64_t>(sizeof(std::string) + context.size());
  for (const tensorflow::Example& example : examples) {
    bytes += static_cast<int64_t>(example.ByteSizeLong());
  }
  if (bytes > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(examples.size(), " examples with a context of ", context.size(), " bytes in ",
                     "each take ", bytes, " bytes, more than the ", max_bytes, " bytes allowed"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kString, {examples.size()}));
  for (int i = 0; i < examples.size(); ++i) {
    std::string& serialized = tensor.flat<std::string>()[i];
    serialized = context;
    examples[i].AppendToString(&serialized);
  }
  return tensor;
}

void FillModelSpec(const ServableId& id, absl::string_view signature_name,
                   tensorflow::serving::ModelSpec* proto) {
  proto->set_name(id.name);
  proto->mutable_version()->set_value(id.version);
  proto->set_signature_name(signature_name.data(), signature_name.size());
}

void FillStatus(const absl::Status& status, tensorflow::serving::StatusProto* proto) {
  proto->set_error_code(static_cast<tensorflow::error::Code>(status.raw_code()));
  proto->set_error_message(ToValidUtf8(status.message()));
}

void FillModelStatus(absl::Span<const ServableState> states,
                     tensorflow::serving::GetModelStatusResponse* proto) {
  for (const ServableState& state : states) {
    tensorflow::serving::ModelVersionStatus* const status = proto->add_model_version_status();
    status->set_version(state.id.version);
    status->set_state(
        static_cast<tensorflow::serving::ModelVersionStatus::State>(static_cast<int>(state.state)));
    FillStatus(state.health, status->mutable_status());
  }
}

void FillClassification(const ClassifyResult& result,
                        tensorflow::serving::ClassificationResult* proto) {
  for (int64_t i = 0; i < result.num_examples; ++i) {
    auto* classifications = proto->add_classifications();
    for (int64_t k = 0; k < result.num_classes; ++k) {
      auto* out = classifications->add_classes();
      const absl::string_view label = result.label(i, k);
      if (!label.empty()) out->set_label(label.data(), label.size());
      out->set_score(result.score(i, k));
    }
  }
}

void FillRegression(const RegressResult& result, tensorflow::serving::RegressionResult* proto) {
  for (const float value : result.values.flat<float>()) proto->add_regressions()->set_value(value);
}

void FillMultiInference(const ServableId& id, absl::Span<const InferenceResult> results,
                        tensorflow::serving::MultiInferenceResponse* proto) {
  for (const InferenceResult& answer : results) {
    auto* result = proto->add_results();
    absl::string_view signature_name;
    if (const auto* classified = std::get_if<ClassifyResult>(&answer)) {
      signature_name = classified->signature_name;
      FillClassification(*classified, result->mutable_classification_result());
    } else {
      const auto& regressed = std::get<RegressResult>(answer);
      signature_name = regressed.signature_name;
      FillRegression(regressed, result->mutable_regression_result());
    }
    FillModelSpec(id, signature_name, result->mutable_model_spec());
  }
}

void FillInput(const Tensor& examples, tensorflow::serving::Input* proto) {
  auto* const list = proto->mutable_example_list();
  for (const std::string& example : examples.flat<std::string>()) {
    list->add_examples()->ParsePartialFromString(example);
  }
}

}  // namespace tessera::serving
