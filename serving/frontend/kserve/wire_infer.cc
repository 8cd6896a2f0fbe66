#include "serving/frontend/kserve/wire_infer.h"

#include <grpcpp/support/proto_buffer_writer.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/datatype.h"
#include "serving/frontend/kserve/raw_contents.h"
#include "serving/frontend/kserve/typed_contents.h"
#include "serving/frontend/wire/wire_slices.h"
#include "serving/frontend/wire/wire_write.h"

namespace tessera::serving {
namespace {

// The field numbers of ModelInferRequest, ModelInferResponse and ModelStreamInferResponse.
constexpr uint32_t kRawInputs = 7, kRawOutputs = 6, kInferResponse = 2;

using WireParameters = google::protobuf::Map<std::string, inference::InferParameter>;

// By this, clients of streams ask models that answer several times for an empty last answer. Each
// answer here is the last one, and says so by the other parameter.
constexpr absl::string_view kEmptyFinalResponse = "triton_enable_empty_final_response";
constexpr char kFinalResponse[] = "triton_final_response";

absl::Status NoValue(const std::string& parameter) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the parameter '", parameter, "' has no bool, int64, double or string as its value"));
}

absl::Status ReadParameters(const WireParameters& wire, InferParameters* parameters) {
  for (const auto& [name, parameter] : wire) {
    if (name == kEmptyFinalResponse && parameter.has_bool_param()) continue;
    InferParameter& read = parameters->emplace_back();
    read.name = name;
    switch (parameter.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        read.value = parameter.bool_param();
        break;
      case inference::InferParameter::kInt64Param:
        read.value = int64_t{parameter.int64_param()};
        break;
      case inference::InferParameter::kUint64Param:
        // Triton takes it for the priority alone, and its clients send that so.
        if (name != "priority") return NoValue(name);
        read.value = uint64_t{parameter.uint64_param()};
        break;
      case inference::InferParameter::kDoubleParam:
        read.value = parameter.double_param();
        break;
      case inference::InferParameter::kStringParam:
        read.value = parameter.string_param();
        break;
      default:
        return NoValue(name);
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Sets raw_, and *all_but_raw to the other fields.
bool WireInferRequest::Split(WireReader in, std::string* all_but_raw) {
  while (!in.AtEnd()) {
    WireReader field = in;
    uint32_t tag;
    if (!in.ReadTag(&tag)) return false;
    if (tag == WireTag(kRawInputs, WireType::kBytes)) {
      if (!in.ReadMessage(&raw_.emplace_back())) return false;
      continue;
    }
    if (!in.SkipField(tag, WireReader::kMaxDepth)) return false;
    const size_t begin = all_but_raw->size();
    const size_t bytes = field.size() - in.size();
    all_but_raw->resize(begin + bytes);
    field.CopyTo(all_but_raw->data() + begin, bytes);
  }
  return true;
}

absl::Status WireInferRequest::Read(const grpc::ByteBuffer& bytes) {
  RETURN_IF_ERROR(bytes_.Hold(bytes));
  const WireReader in = bytes_.reader();
  size_bytes_ = in.size();
  std::string all_but_raw;
  if (!Split(in, &all_but_raw) || !message_.ParseFromString(all_but_raw)) {
    return absl::InternalError("the request is not an inference.ModelInferRequest");
  }
  return absl::OkStatus();
}

absl::StatusOr<InferRequest> WireInferRequest::Request() const {
  InferRequest request;
  request.id = message_.id();
  RETURN_IF_ERROR(ReadParameters(message_.parameters(), &request.parameters));
  for (const auto& wire : message_.inputs()) {
    if (!raw_.empty() && wire.has_contents()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", wire.name(),
          "' has contents though there are raw_input_contents; send all inputs in one way"));
    }
    InferParameters parameters;
    RETURN_IF_ERROR(ReadParameters(wire.parameters(), &parameters));
    RETURN_IF_ERROR(CheckTensorParameters("input", wire.name(), parameters));
    request.inputs.push_back({.name = wire.name(),
                              .datatype = wire.datatype(),
                              .shape = {wire.shape().begin(), wire.shape().end()}});
  }
  if (!raw_.empty() && raw_.size() != request.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", raw_.size(), " raw_input_contents for ", request.inputs.size(), " inputs"));
  }
  for (const auto& wire : message_.outputs()) {
    InferOutput& output = request.outputs.emplace_back();
    output.name = wire.name();
    RETURN_IF_ERROR(ReadParameters(wire.parameters(), &output.parameters));
  }
  return request;
}

absl::StatusOr<Tensor> WireInferRequest::Elements(size_t i, DType dtype, const Shape& shape) const {
  if (raw_.empty()) {
    return TensorFromTyped(dtype, shape, message_.inputs(static_cast<int>(i)).contents());
  }
  return TensorFromRaw(dtype, shape, raw_[i],
                       [this](const char* address) { return bytes_.Keep(address); });
}

absl::StatusOr<grpc::ByteBuffer> EncodeInferResponse(const std::string& request_id,
                                                     const ServableId& model,
                                                     const PredictResult& result,
                                                     InferEnvelope envelope) {
  inference::ModelInferResponse head;
  head.set_model_name(model.name);
  head.set_model_version(absl::StrCat(model.version));
  head.set_id(request_id);
  if (envelope == InferEnvelope::kStream) {
    (*head.mutable_parameters())[kFinalResponse].set_bool_param(true);
  }
  absl::InlinedVector<uint64_t, 2> sizes;
  uint64_t raw_bytes = 0, shared_bytes = 0;
  const auto is_shared = [&](size_t i) {
    return sizes[i] >= kMinSharedBytes && IsTriviallyCopyable(result.outputs[i].tensor.dtype());
  };
  for (const NamedOutput& output : result.outputs) {
    const absl::string_view datatype = DatatypeOf(output.tensor.dtype());
    if (datatype.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("output '", output.name, "' is of type ", DTypeName(output.tensor.dtype()),
                       ", which this protocol lacks; ask for other outputs"));
    }
    auto* const wire = head.add_outputs();
    wire->set_name(std::string(output.name));
    wire->set_datatype(std::string(datatype));
    for (const int64_t dim : output.tensor.shape().dims()) wire->add_shape(dim);
    sizes.push_back(RawSize(output.tensor));
    raw_bytes += BytesFieldSize(kRawOutputs, sizes.back());
    if (is_shared(sizes.size() - 1)) shared_bytes += sizes.back();
  }
  const uint64_t head_bytes = head.ByteSizeLong();
  const uint64_t total = head_bytes + raw_bytes;
  const uint64_t envelope_bytes =
      envelope == InferEnvelope::kNone ? 0 : BytesFieldSize(kInferResponse, total) - total;
  if (envelope_bytes + total > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the outputs take ", total, " bytes, more than a gRPC message can have"));
  }

  SliceWriter slices(envelope_bytes + total - shared_bytes);
  char* out = slices.begin();
  if (envelope != InferEnvelope::kNone) out = WriteBytesHead(kInferResponse, total, out);
  head.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(out));
  out += head_bytes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    out = WriteBytesHead(kRawOutputs, sizes[i], out);
    if (is_shared(i)) {
      slices.Share(out, result.outputs[i].tensor);
    } else {
      out = WriteRaw(result.outputs[i].tensor, out);
    }
  }
  return slices.Finish(out);
}

grpc::ByteBuffer EncodeStreamError(const std::string& request_id, const absl::Status& error) {
  inference::ModelStreamInferResponse response;
  response.set_error_message(std::string(error.message()));
  response.mutable_infer_response()->set_id(request_id);
  const std::string bytes = response.SerializeAsString();
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace tessera::serving
