#include "Eigen/Core"
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/util/json_util.h"
#include "rapidjson/document.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "runtime/base/status.h"
#include "serving/commands/client/model_codec.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/json/json_response.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

namespace wire = ::tensorflow::serving;

absl::Status NoAnswer(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the answer is no ", what));
}

absl::Status ParseProto(absl::string_view json, google::protobuf::Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status =
      google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, message, options);
  return status.ok() ? absl::OkStatus() : NoAnswer(message->GetTypeName());
}

// Returns a member of an object, or null.
const rapidjson::Value* Member(const rapidjson::Value* object, const char* name) {
  if (object == nullptr || !object->IsObject()) return nullptr;
  const auto found = object->FindMember(name);
  return found == object->MemberEnd() ? nullptr : &found->value;
}

// Returns the type as which the numbers of an output are read: requests cannot have all the types
// that answers have.
DType ReadableType(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
    case DType::kBfloat16:
      return DType::kFloat;
    case DType::kUint16:
      return DType::kInt32;
    default:
      return dtype;
  }
}

template <typename From, typename To>
absl::StatusOr<Tensor> Convert(const Tensor& from) {
  ASSIGN_OR_RETURN(Tensor to, Tensor::Allocate(DTypeOf<To>, from.shape()));
  absl::c_transform(from.flat<From>(), to.flat<To>().begin(),
                    [](From value) { return static_cast<To>(value); });
  return to;
}

// Returns an output of this type whose numbers were read as ReadableType().
absl::StatusOr<Tensor> FromReadable(Tensor tensor, DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return Convert<float, Eigen::half>(tensor);
    case DType::kBfloat16:
      return Convert<float, Eigen::bfloat16>(tensor);
    case DType::kUint16:
      return Convert<int32_t, uint16_t>(tensor);
    default:
      return tensor;
  }
}

// Encodes what separates the parts of a path, and what no path may have.
std::string PercentEncode(absl::string_view text) {
  std::string encoded;
  for (const unsigned char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._~", static_cast<char>(c))) {
      encoded += static_cast<char>(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", c);
    }
  }
  return encoded;
}

class RestCodec final : public ModelCodec {
 public:
  explicit RestCodec(const std::string& server)
      : url_(absl::StrCat("rest://", server, "/v1/models/")) {}

  EncodedRequest Metadata(const wire::ModelSpec& spec) const override {
    return {.url = Url(spec, "/metadata")};
  }

  // {"model_spec": {"version": "2"}, "metadata": {"signature_def": {"signature_def": {...}}}}
  absl::StatusOr<ModelMetadata> DecodeMetadata(absl::string_view answer) const override {
    rapidjson::Document json;
    json.Parse(answer.data(), answer.size());
    if (json.HasParseError()) return NoAnswer("description of a model");
    const rapidjson::Value* version = Member(Member(&json, "model_spec"), "version");
    const rapidjson::Value* map = Member(Member(&json, "metadata"), "signature_def");
    int64_t number = 0;
    if (map == nullptr || version == nullptr || !version->IsString() ||
        !absl::SimpleAtoi(version->GetString(), &number)) {
      return NoAnswer("description of a model");
    }
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> writer(text);
    map->Accept(writer);
    wire::SignatureDefMap signatures;
    RETURN_IF_ERROR(ParseProto({text.GetString(), text.GetSize()}, &signatures));
    return MetadataFromProto(number, signatures);
  }

  EncodedRequest Status(const wire::ModelSpec& spec) const override {
    return {.url = Url(spec, "")};
  }

  absl::StatusOr<wire::GetModelStatusResponse> DecodeStatus(
      absl::string_view answer) const override {
    wire::GetModelStatusResponse response;
    RETURN_IF_ERROR(ParseProto(answer, &response));
    return response;
  }

  absl::StatusOr<EncodedRequest> Predict(const PredictCall& call) const override {
    EncodedRequest request{.url = Url(call.spec, ":predict")};
    JsonWriter json(&request.bytes);
    json.set_arrays_on_one_line(true);
    json.StartObject();
    json.Key("signature_name");
    json.String(call.spec.signature_name());
    json.Key("inputs");
    json.StartObject();
    for (const auto& [name, tensor] : call.inputs) {
      json.Key(name);
      // Not all strings are text; as bytes all can be sent.
      const absl::Status status = WriteJsonTensor(tensor, /*as_bytes=*/true, json);
      if (!status.ok()) {
        return Annotate(status, absl::StrCat("input '", name, "' needs gRPC, leave out --rest: "));
      }
    }
    json.EndObject();
    json.EndObject();
    return request;
  }

  absl::StatusOr<Outputs> DecodePredict(absl::string_view answer,
                                        const RemoteSignature& signature) const override {
    // An answer in columns has the form of a request in columns.
    constexpr absl::string_view kKey = "\"outputs\"";
    const size_t key = answer.find(kKey);
    if (key == answer.npos) return NoAnswer("prediction");
    const std::string body =
        absl::StrCat(answer.substr(0, key), "\"inputs\"", answer.substr(key + kKey.size()));
    std::vector<InputType> types;
    for (const auto& [name, info] : signature.outputs) {
      types.push_back({name, ReadableType(info.dtype)});
    }
    PredictBody decoded;
    RETURN_IF_ERROR(DecodePredictBody(
        body,
        [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
          return absl::MakeConstSpan(types);
        },
        &decoded));
    Outputs outputs;
    for (auto& [name, tensor] : decoded.inputs) {
      const DType dtype = signature.outputs.at(std::string(name)).dtype;
      ASSIGN_OR_RETURN(Tensor output, FromReadable(std::move(tensor), dtype));
      outputs.emplace_back(name, std::move(output));
    }
    return outputs;
  }

 private:
  std::string Url(const wire::ModelSpec& spec, absl::string_view action) const {
    std::string url = url_ + PercentEncode(spec.name());
    if (spec.has_version()) absl::StrAppend(&url, "/versions/", spec.version().value());
    if (!spec.version_label().empty()) {
      absl::StrAppend(&url, "/labels/", PercentEncode(spec.version_label()));
    }
    return absl::StrCat(url, action);
  }

  const std::string url_;
};

}  // namespace

std::unique_ptr<ModelCodec> MakeRestCodec(const std::string& server) {
  return std::make_unique<RestCodec>(server);
}

}  // namespace tessera::serving
