#include "serving/frontend/kserve/json_infer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_writer.h"
#include "serving/frontend/kserve/datatype.h"
#include "serving/frontend/kserve/json_tensor.h"
#include "serving/frontend/kserve/raw_contents.h"

namespace tessera::serving {
namespace {

// Room for the answer of one small output, so that its text does not move while it grows.
constexpr size_t kUsualBytes = 384;

absl::Status WrongMember(absl::string_view name, absl::string_view kind, const JsonValue* value) {
  return absl::InvalidArgumentError(
      value == nullptr
          ? absl::StrCat("'", name, "' is missing; it is ", kind)
          : absl::StrCat("'", name, "' must be ", kind, ", but is ", QuoteJson(*value)));
}

absl::Status ReadText(const JsonValue& object, absl::string_view name, std::string* text) {
  const JsonValue* value = FindMember(object, name);
  if (value == nullptr || !value->IsString()) return WrongMember(name, "a string", value);
  *text = std::string(TextOf(*value));
  return absl::OkStatus();
}

absl::Status ReadParameters(const JsonValue& object, InferParameters* parameters) {
  const JsonValue* value = FindMember(object, "parameters");
  if (value == nullptr) return absl::OkStatus();
  if (!value->IsObject()) return WrongMember("parameters", "an object", value);
  for (const auto& member : value->GetObject()) {
    InferParameter& parameter = parameters->emplace_back();
    parameter.name = std::string(TextOf(member.name));
    if (member.value.IsBool()) {
      parameter.value = member.value.GetBool();
    } else if (member.value.IsString()) {
      parameter.value = std::string(TextOf(member.value));
    } else if (member.value.IsInt64()) {
      parameter.value = int64_t{member.value.GetInt64()};
    } else if (member.value.IsUint64()) {
      parameter.value = uint64_t{member.value.GetUint64()};
    } else if (member.value.IsNumber()) {
      parameter.value = member.value.GetDouble();
    } else {
      return WrongMember(parameter.name, "a string, a number or a bool, as parameters are",
                         &member.value);
    }
  }
  return absl::OkStatus();
}

// Returns the list of a member, null if it is missing.
absl::StatusOr<const JsonValue*> FindObjects(const JsonValue& object, absl::string_view name) {
  const JsonValue* value = FindMember(object, name);
  if (value == nullptr) return value;
  if (!value->IsArray()) return WrongMember(name, "a list", value);
  for (const JsonValue& element : value->GetArray()) {
    if (!element.IsObject()) return WrongMember(name, "a list of objects", &element);
  }
  return value;
}

// Returns the shape of a raw body of so many bytes.
absl::StatusOr<std::vector<int64_t>> RawShape(const TensorInfo& input, uint64_t bytes) {
  std::vector<int64_t> dims = DescribedDims(input.shape);
  int64_t known = static_cast<int64_t>(DTypeSize(input.dtype));
  int64_t* open = nullptr;
  for (int64_t& dim : dims) {
    if (dim >= 0) {
      known = MultiplyWithoutOverflow(known, dim);
    } else if (std::exchange(open, &dim) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a raw body does not tell the shape of an input with the dimensions ", DimsText(dims)));
    }
  }
  if (known <= 0) return absl::InvalidArgumentError("the input takes no raw body");
  if (open != nullptr) *open = static_cast<int64_t>(bytes / static_cast<uint64_t>(known));
  return dims;
}

}  // namespace

absl::Status JsonInferRequest::Read(std::string body, std::optional<uint64_t> json_length,
                                    const ModelInfo& model) {
  body_ = std::make_shared<const std::string>(std::move(body));
  if (json_length == 0) return ReadRaw(model);
  const absl::string_view all = *body_;
  if (json_length.value_or(0) > all.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the JSON is said to have ", *json_length,
                                                   " bytes, the body has ", all.size()));
  }
  const uint64_t length = json_length.value_or(all.size());
  return ReadJson(all.substr(0, length), all.substr(length));
}

absl::Status JsonInferRequest::ReadJson(absl::string_view json, absl::string_view binary) {
  absl::InlinedVector<JsonNumbersText, 2> numbers;
  if (binary.empty() && ReadNumericInfer(json, &request_, &numbers)) {
    elements_.assign(numbers.begin(), numbers.end());
  } else {
    request_ = InferRequest();
    RETURN_IF_ERROR(ReadDocument(json, binary));
  }
  return FindBinaryOutputs();
}

absl::Status JsonInferRequest::ReadDocument(absl::string_view json, absl::string_view binary) {
  RETURN_IF_ERROR(ParseJsonObject(json, &json_, JsonDialect::kExact));
  if (FindMember(json_, "id") != nullptr) RETURN_IF_ERROR(ReadText(json_, "id", &request_.id));
  RETURN_IF_ERROR(ReadParameters(json_, &request_.parameters));
  ASSIGN_OR_RETURN(const JsonValue* const inputs, FindObjects(json_, "inputs"));
  if (inputs == nullptr) return WrongMember("inputs", "a list", nullptr);
  for (const JsonValue& input : inputs->GetArray()) RETURN_IF_ERROR(ReadInput(input, &binary));
  if (!binary.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(binary.size(), " bytes follow the JSON and the binary data of the inputs"));
  }
  ASSIGN_OR_RETURN(const JsonValue* const outputs, FindObjects(json_, "outputs"));
  if (outputs == nullptr) return absl::OkStatus();
  for (const JsonValue& output : outputs->GetArray()) {
    InferOutput& wanted = request_.outputs.emplace_back();
    RETURN_IF_ERROR(ReadText(output, "name", &wanted.name));
    RETURN_IF_ERROR(ReadParameters(output, &wanted.parameters));
  }
  return absl::OkStatus();
}

absl::Status JsonInferRequest::FindBinaryOutputs() {
  ASSIGN_OR_RETURN(const auto all_binary, BoolParameter(request_.parameters, "binary_data_output"));
  binary_outputs_ = all_binary.value_or(false);
  for (const InferOutput& output : request_.outputs) {
    ASSIGN_OR_RETURN(binary_of_outputs_.emplace_back(),
                     BoolParameter(output.parameters, "binary_data"));
  }
  return absl::OkStatus();
}

absl::Status JsonInferRequest::ReadInput(const JsonValue& value, absl::string_view* binary) {
  InferInput& input = request_.inputs.emplace_back();
  RETURN_IF_ERROR(ReadText(value, "name", &input.name));
  RETURN_IF_ERROR(ReadText(value, "datatype", &input.datatype));
  const JsonValue* shape = FindMember(value, "shape");
  if (shape == nullptr || !shape->IsArray()) return WrongMember("shape", "a list", shape);
  for (const JsonValue& dim : shape->GetArray()) {
    if (!dim.IsInt64()) return WrongMember("shape", "a list of whole numbers", shape);
    input.shape.push_back(dim.GetInt64());
  }
  InferParameters parameters;
  RETURN_IF_ERROR(ReadParameters(value, &parameters));
  RETURN_IF_ERROR(CheckTensorParameters("input", input.name, parameters));
  ASSIGN_OR_RETURN(const auto size, CountParameter(parameters, "binary_data_size"));
  const JsonValue* data = FindMember(value, "data");
  if (size.has_value() == (data != nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name, "' must have either data or the parameter binary_data_size"));
  }
  if (!size) {
    elements_.emplace_back(data);
    return absl::OkStatus();
  }
  if (static_cast<uint64_t>(*size) > binary->size()) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' has ", *size,
                                                   " bytes of binary data, but only ",
                                                   binary->size(), " follow the JSON"));
  }
  elements_.emplace_back(binary->substr(0, static_cast<size_t>(*size)));
  binary->remove_prefix(static_cast<size_t>(*size));
  return absl::OkStatus();
}

absl::Status JsonInferRequest::ReadRaw(const ModelInfo& model) {
  ASSIGN_OR_RETURN(const InferSignature signature, SignatureToInfer(model));
  if (signature.info->inputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("a raw body is for a model with one input; '",
                                                   model.id.name, "' has ",
                                                   signature.info->inputs.size()));
  }
  const auto& [name, tensor] = *signature.info->inputs.begin();
  InferInput& input = request_.inputs.emplace_back();
  input.name = name;
  input.datatype = std::string(DatatypeOf(tensor.dtype));
  if (tensor.dtype == DType::kString) {
    return absl::InvalidArgumentError("an input of strings takes no raw body");
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> dims, RawShape(tensor, body_->size()));
  input.shape.assign(dims.begin(), dims.end());
  elements_.emplace_back(absl::string_view(*body_));
  binary_outputs_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> JsonInferRequest::Elements(size_t i, DType dtype, const Shape& shape) const {
  if (const auto* data = std::get_if<const JsonValue*>(&elements_[i])) {
    return TensorFromJson(dtype, shape, **data);
  }
  if (const auto* numbers = std::get_if<JsonNumbersText>(&elements_[i])) {
    Tensor tensor;
    if (TensorFromNumbers(*numbers, dtype, shape, &tensor)) return tensor;
    // The tree takes what is unusual, and tells what is wrong.
    JsonInferRequest general;
    RETURN_IF_ERROR(general.ReadDocument(*body_, {}));
    return general.Elements(i, dtype, shape);
  }
  const absl::string_view bytes = std::get<absl::string_view>(elements_[i]);
  return TensorFromRaw(dtype, shape, WireReader(absl::MakeConstSpan(&bytes, 1)),
                       [this](const char*) { return body_; });
}

bool JsonInferRequest::WantsBinary(absl::string_view output) const {
  for (size_t i = 0; i < request_.outputs.size(); ++i) {
    if (request_.outputs[i].name == output) {
      return binary_of_outputs_[i].value_or(binary_outputs_);
    }
  }
  return binary_outputs_;
}

absl::StatusOr<JsonInferResponse> WriteInferResponse(const JsonInferRequest& request,
                                                     const ServableId& model,
                                                     const PredictResult& result) {
  JsonInferResponse response;
  response.body.reserve(kUsualBytes);
  JsonWriter json(&response.body);
  json.StartObject();
  json.Key("model_name");
  json.String(model.name);
  json.Key("model_version");
  json.String(absl::StrCat(model.version));
  if (!request.request().id.empty()) {
    json.Key("id");
    json.String(request.request().id);
  }
  json.Key("outputs");
  json.StartArray();
  uint64_t binary_bytes = 0;
  bool has_binary = false;
  for (const NamedOutput& output : result.outputs) {
    const Tensor& tensor = output.tensor;
    json.StartObject();
    json.Key("name");
    json.String(output.name);
    json.Key("datatype");
    json.String(DatatypeOf(tensor.dtype()));
    json.Key("shape");
    json.set_arrays_on_one_line(true);
    json.StartArray();
    json.Numbers(tensor.shape().dims());
    json.EndArray();
    if (request.WantsBinary(output.name) && !DatatypeOf(tensor.dtype()).empty()) {
      has_binary = true;
      const uint64_t bytes = RawSize(tensor);
      binary_bytes += bytes;
      json.Key("parameters");
      json.StartObject();
      json.Key("binary_data_size");
      json.Number(bytes);
      json.EndObject();
    } else {
      json.Key("data");
      if (const absl::Status status = WriteJsonElements(tensor, json); !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("output '", output.name, "': ", status.message()));
      }
    }
    json.set_arrays_on_one_line(false);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  if (!has_binary) return response;
  response.json_length = response.body.size();
  response.body.resize(response.body.size() + binary_bytes);
  char* out = response.body.data() + *response.json_length;
  for (const NamedOutput& output : result.outputs) {
    if (request.WantsBinary(output.name)) out = WriteRaw(output.tensor, out);
  }
  return response;
}

}  // namespace tessera::serving
