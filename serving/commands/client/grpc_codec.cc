#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/commands/client/model_codec.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

namespace wire = ::tensorflow::serving;

template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::DataLossError(absl::StrCat("the answer is no ", message.GetTypeName()));
}

class GrpcCodec final : public ModelCodec {
 public:
  explicit GrpcCodec(const std::string& server)
      : url_(absl::StrCat("grpc://", server, absl::StartsWith(server, "unix:") ? ":" : "")) {}

  EncodedRequest Metadata(const wire::ModelSpec& spec) const override {
    wire::GetModelMetadataRequest request;
    *request.mutable_model_spec() = spec;
    request.add_metadata_field("signature_def");
    return Encode("PredictionService/GetModelMetadata", request);
  }

  absl::StatusOr<ModelMetadata> DecodeMetadata(absl::string_view answer) const override {
    ASSIGN_OR_RETURN(const auto response, Parse<wire::GetModelMetadataResponse>(answer));
    wire::SignatureDefMap signatures;
    const auto found = response.metadata().find("signature_def");
    if (found == response.metadata().end() || !found->second.UnpackTo(&signatures)) {
      return absl::DataLossError("the answer has no signatures");
    }
    return MetadataFromProto(response.model_spec().version().value(), signatures);
  }

  EncodedRequest Status(const wire::ModelSpec& spec) const override {
    wire::GetModelStatusRequest request;
    *request.mutable_model_spec() = spec;
    return Encode("ModelService/GetModelStatus", request);
  }

  absl::StatusOr<wire::GetModelStatusResponse> DecodeStatus(
      absl::string_view answer) const override {
    return Parse<wire::GetModelStatusResponse>(answer);
  }

  absl::StatusOr<EncodedRequest> Predict(const PredictCall& call) const override {
    wire::PredictRequest request;
    *request.mutable_model_spec() = call.spec;
    for (const auto& [name, tensor] : call.inputs) {
      RETURN_IF_ERROR(TensorToProto(tensor, TensorProtoForm::kTensorContent,
                                    &(*request.mutable_inputs())[name]));
    }
    return Encode("PredictionService/Predict", request);
  }

  absl::StatusOr<Outputs> DecodePredict(absl::string_view answer,
                                        const RemoteSignature&) const override {
    ASSIGN_OR_RETURN(const auto response, Parse<wire::PredictResponse>(answer));
    std::map<std::string, Tensor> outputs;
    for (const auto& [name, proto] : response.outputs()) {
      ASSIGN_OR_RETURN(outputs[name], TensorFromProto(proto));
    }
    return Outputs(outputs.begin(), outputs.end());
  }

 private:
  EncodedRequest Encode(absl::string_view method, const google::protobuf::Message& request) const {
    return {.url = absl::StrCat(url_, "/tensorflow.serving.", method),
            .bytes = request.SerializeAsString()};
  }

  const std::string url_;
};

}  // namespace

std::unique_ptr<ModelCodec> MakeGrpcCodec(const std::string& server) {
  return std::make_unique<GrpcCodec>(server);
}

}  // namespace tessera::serving
