// ModelCodec: how a server is asked about a model and how its answers are read, for one protocol.
//
//   const auto codec = MakeGrpcCodec("127.0.0.1:8500");
//   ASSIGN_OR_RETURN(const EncodedRequest request, codec->Predict(call));
//   ... sends request.bytes to request.url by a RequestTarget ...
//   ASSIGN_OR_RETURN(auto outputs, codec->DecodePredict(answer, signature));
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"
#include "serving/commands/signature_inputs.h"
#include "serving/servables/servable.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"
#include "tensorflow_serving/apis/get_model_status.pb.h"
#include "tensorflow_serving/apis/model.pb.h"

namespace tessera::serving {

// A request as the bytes that go over the wire, and the URL of the RequestTarget that takes it.
struct EncodedRequest {
  std::string url;
  std::string bytes;
};

struct PredictCall {
  tensorflow::serving::ModelSpec spec;
  std::map<std::string, Tensor> inputs;  // by name
};

struct RemoteSignature {
  SignatureInputs inputs;
  std::map<std::string, TensorInfo> outputs;  // by name
  std::string method_name;
};

// The description of a version that a server gives.
struct ModelMetadata {
  int64_t version = 0;
  std::map<std::string, RemoteSignature> signatures;  // by name
};

// Immutable and thread-safe. Decoders return INVALID_ARGUMENT or DATA_LOSS for an answer that is
// none, as another kind of server gives it.
class ModelCodec {
 public:
  using Outputs = std::vector<std::pair<std::string, Tensor>>;  // by name

  virtual ~ModelCodec() = default;

  virtual EncodedRequest Metadata(const tensorflow::serving::ModelSpec& spec) const = 0;
  virtual absl::StatusOr<ModelMetadata> DecodeMetadata(absl::string_view answer) const = 0;

  virtual EncodedRequest Status(const tensorflow::serving::ModelSpec& spec) const = 0;
  virtual absl::StatusOr<tensorflow::serving::GetModelStatusResponse> DecodeStatus(
      absl::string_view answer) const = 0;

  // Errors: INVALID_ARGUMENT for an input whose type the protocol has no form for.
  virtual absl::StatusOr<EncodedRequest> Predict(const PredictCall& call) const = 0;
  virtual absl::StatusOr<Outputs> DecodePredict(absl::string_view answer,
                                                const RemoteSignature& signature) const = 0;
};

// `server` is "HOST:PORT".
std::unique_ptr<ModelCodec> MakeGrpcCodec(const std::string& server);
std::unique_ptr<ModelCodec> MakeRestCodec(const std::string& server);

// Reads the signatures of a version from TensorFlow Serving's message.
absl::StatusOr<ModelMetadata> MetadataFromProto(
    int64_t version, const tensorflow::serving::SignatureDefMap& signatures);

}  // namespace tessera::serving
