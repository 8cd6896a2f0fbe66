#include "serving/servables/servable.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"

namespace tessera::serving {
namespace {

absl::Status NotOfThisPlatform(absl::string_view call, const ModelInfo& info) {
  return absl::UnimplementedError(absl::StrCat("models of platform ", info.platform,
                                               " do not answer ", call, "; ask them by Predict"));
}

void FillTensors(const std::map<std::string, TensorInfo>& tensors,
                 google::protobuf::Map<std::string, tensorflow::TensorInfo>* protos) {
  for (const auto& [name, tensor] : tensors) {
    tensorflow::TensorInfo& proto = (*protos)[name];
    proto.set_name(name);
    proto.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype));
    if (!tensor.shape.known_rank()) {
      proto.mutable_tensor_shape()->set_unknown_rank(true);
      continue;
    }
    proto.mutable_tensor_shape();
    for (const int64_t dim : tensor.shape.dims()) {
      proto.mutable_tensor_shape()->add_dim()->set_size(dim);
    }
  }
}

}  // namespace

const SignatureInfo* ModelInfo::FindSignature(absl::string_view name) const {
  const auto it = signatures.find(name.empty() ? kDefaultSignature : name);
  return it == signatures.end() ? nullptr : &it->second;
}

std::string ModelInfo::SignatureNames() const {
  return absl::StrJoin(signatures, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first);
  });
}

absl::Status Servable::Classify(const ExamplesRequest&, const CallOptions&, ClassifyResult*) const {
  return NotOfThisPlatform("Classify", info_);
}

absl::Status Servable::Regress(const ExamplesRequest&, const CallOptions&, RegressResult*) const {
  return NotOfThisPlatform("Regress", info_);
}

absl::Status Servable::MultiInference(absl::Span<const InferenceTask>,
                                      absl::FunctionRef<absl::StatusOr<Tensor>()>,
                                      const CallOptions&, std::vector<InferenceResult>*) const {
  return NotOfThisPlatform("MultiInference", info_);
}

void Servable::FillSignatureDefs(tensorflow::serving::SignatureDefMap* map) const {
  for (const auto& [name, signature] : info_.signatures) {
    tensorflow::SignatureDef& proto = (*map->mutable_signature_def())[name];
    proto.set_method_name(signature.method_name);
    FillTensors(signature.inputs, proto.mutable_inputs());
    FillTensors(signature.outputs, proto.mutable_outputs());
  }
}

absl::Status AskSample(const Servable& servable, const SampleRequest& request,
                       const CallOptions& options, PredictResult* result) {
  const std::vector<absl::string_view> names(request.input_names.begin(),
                                             request.input_names.end());
  const std::vector<absl::string_view> filter(request.output_filter.begin(),
                                              request.output_filter.end());
  const auto input = [&](size_t i) -> absl::StatusOr<Tensor> { return request.inputs[i]; };
  return servable.Predict({.signature_name = request.signature_name,
                           .input_names = names,
                           .input = input,
                           .output_filter = filter},
                          options, result);
}

}  // namespace tessera::serving
