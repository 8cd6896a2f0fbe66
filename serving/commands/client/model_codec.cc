#include "serving/commands/client/model_codec.h"

#include "runtime/base/status.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

template <typename Tensors>
absl::Status AddTensors(const Tensors& from, std::map<std::string, TensorInfo>* to) {
  for (const auto& [name, info] : from) {
    TensorInfo& tensor = (*to)[name];
    tensor.dtype = static_cast<DType>(info.dtype());
    ASSIGN_OR_RETURN(tensor.shape, PartialShapeFromProto(info.tensor_shape()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelMetadata> MetadataFromProto(
    int64_t version, const tensorflow::serving::SignatureDefMap& signatures) {
  ModelMetadata metadata{.version = version};
  for (const auto& [name, def] : signatures.signature_def()) {
    // The initialiser of a model stands among its signatures. Nobody can ask it.
    if (def.method_name().empty()) continue;
    RemoteSignature& signature = metadata.signatures[name];
    signature.inputs.signature_name = name;
    signature.method_name = def.method_name();
    RETURN_IF_ERROR(AddTensors(def.inputs(), &signature.inputs.inputs));
    RETURN_IF_ERROR(AddTensors(def.outputs(), &signature.outputs));
    for (const auto& [input, value] : def.defaults()) signature.inputs.optional.push_back(input);
  }
  return metadata;
}

}  // namespace tessera::serving
