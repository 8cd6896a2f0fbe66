#include "serving/frontend/json/json_response.h"

#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

using Dims = absl::Span<const int64_t>;

// Outputs whose names end so hold bytes that need not be text.
constexpr absl::string_view kBytesSuffix = "_bytes";

template <typename T>
void WriteElements(absl::Span<const T> values, bool, JsonWriter& json) {
  json.Numbers(values);
}
template <typename T>
requires std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>
void WriteElements(absl::Span<const T> values, bool, JsonWriter& json) {
  for (const T value : values) json.Number(static_cast<float>(value));
}
void WriteElements(absl::Span<const bool> values, bool, JsonWriter& json) {
  for (const bool value : values) json.Bool(value);
}
void WriteElements(absl::Span<const std::string> values, bool as_bytes, JsonWriter& json) {
  for (const std::string& value : values) {
    if (!as_bytes && IsUtf8(value)) {
      json.String(value);
      continue;
    }
    json.StartObject();
    json.Key("b64");
    json.String(absl::Base64Escape(value));
    json.EndObject();
  }
}

// Writes a scalar or an array of these dimensions. Returns the end of its elements.
template <typename T>
const T* WriteValue(const T* data, Dims dims, bool as_bytes, JsonWriter& json) {
  if (dims.empty()) {
    WriteElements(absl::Span<const T>(data, 1), as_bytes, json);
    return data + 1;
  }
  json.StartArray();
  if (dims.size() == 1) {
    WriteElements(absl::Span<const T>(data, dims[0]), as_bytes, json);
    data += dims[0];
  } else {
    for (int64_t i = 0; i < dims[0]; ++i) data = WriteValue(data, dims.subspan(1), as_bytes, json);
  }
  json.EndArray();
  return data;
}

// Calls f.operator()<T>() for the element type, if it has a JSON form.
// Errors: INVALID_ARGUMENT.
template <typename F>
absl::Status WithType(DType dtype, F f) {
  switch (dtype) {
    case DType::kFloat:
      f.template operator()<float>();
      break;
    case DType::kDouble:
      f.template operator()<double>();
      break;
    case DType::kHalf:
      f.template operator()<Eigen::half>();
      break;
    case DType::kBfloat16:
      f.template operator()<Eigen::bfloat16>();
      break;
    case DType::kInt8:
      f.template operator()<int8_t>();
      break;
    case DType::kInt16:
      f.template operator()<int16_t>();
      break;
    case DType::kInt32:
      f.template operator()<int32_t>();
      break;
    case DType::kInt64:
      f.template operator()<int64_t>();
      break;
    case DType::kUint8:
      f.template operator()<uint8_t>();
      break;
    case DType::kUint16:
      f.template operator()<uint16_t>();
      break;
    case DType::kUint32:
      f.template operator()<uint32_t>();
      break;
    case DType::kUint64:
      f.template operator()<uint64_t>();
      break;
    case DType::kBool:
      f.template operator()<bool>();
      break;
    case DType::kString:
      f.template operator()<std::string>();
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("Failed to write JSON value for tensor type: ", DTypeName(dtype),
                       "; ask by gRPC, or have the signature return it as another type"));
  }
  return absl::OkStatus();
}

bool IsBytes(const NamedOutput& output) { return absl::EndsWith(output.name, kBytesSuffix); }

}  // namespace

absl::Status WriteJsonTensor(const Tensor& tensor, bool as_bytes, JsonWriter& json) {
  if (tensor.num_elements() == 0) {
    // Without values every dtype has a JSON form.
    WriteValue<float>(nullptr, tensor.shape().dims(), as_bytes, json);
    return absl::OkStatus();
  }
  return WithType(tensor.dtype(), [&]<typename T>() {
    WriteValue(tensor.template data<T>(), tensor.shape().dims(), as_bytes, json);
  });
}

namespace {

absl::StatusOr<int64_t> BatchSize(absl::Span<const NamedOutput> outputs) {
  for (const NamedOutput& output : outputs) {
    if (output.tensor.rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("Tensor name: ", output.name,
                                                     " has no shape information, so its rows "
                                                     "cannot be told: ask with 'inputs'"));
    }
    if (output.tensor.dim(0) != outputs[0].tensor.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor name: ", output.name, " has inconsistent batch size: ", output.tensor.dim(0),
          " expecting: ", outputs[0].tensor.dim(0)));
    }
  }
  return outputs[0].tensor.dim(0);
}

absl::Status WriteRows(absl::Span<const NamedOutput> outputs, JsonWriter& json) {
  ASSIGN_OR_RETURN(const int64_t batch_size, BatchSize(outputs));
  json.StartObject();
  json.Key("predictions");
  json.StartArray();
  if (outputs.size() == 1 && batch_size > 0) {
    json.set_arrays_on_one_line(true);
    const Tensor& tensor = outputs[0].tensor;
    if (tensor.rank() == 1) {
      // Written at once, because a tensor for each element would be costly.
      RETURN_IF_ERROR(WithType(tensor.dtype(), [&]<typename T>() {
        WriteElements(tensor.template flat<T>(), IsBytes(outputs[0]), json);
      }));
    } else {
      for (int64_t i = 0; i < batch_size; ++i) {
        RETURN_IF_ERROR(WriteJsonTensor(tensor.SubSlice(i), IsBytes(outputs[0]), json));
      }
    }
    json.set_arrays_on_one_line(false);
  } else {
    for (int64_t i = 0; i < batch_size; ++i) {
      json.StartObject();
      for (const NamedOutput& output : outputs) {
        json.Key(output.name);
        json.set_arrays_on_one_line(true);
        RETURN_IF_ERROR(WriteJsonTensor(output.tensor.SubSlice(i), IsBytes(output), json));
        json.set_arrays_on_one_line(false);
      }
      json.EndObject();
    }
  }
  json.EndArray();
  json.EndObject();
  return absl::OkStatus();
}

absl::Status WriteColumns(absl::Span<const NamedOutput> outputs, JsonWriter& json) {
  json.StartObject();
  json.Key("outputs");
  if (outputs.size() == 1) {
    RETURN_IF_ERROR(WriteJsonTensor(outputs[0].tensor, IsBytes(outputs[0]), json));
  } else {
    json.StartObject();
    for (const NamedOutput& output : outputs) {
      json.Key(output.name);
      RETURN_IF_ERROR(WriteJsonTensor(output.tensor, IsBytes(output), json));
    }
    json.EndObject();
  }
  json.EndObject();
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendPredictResponse(PredictLayout layout, absl::Span<const NamedOutput> outputs,
                                   std::string* out) {
  if (outputs.empty()) {
    return absl::InvalidArgumentError("Cannot convert empty tensor map to JSON");
  }
  JsonWriter json(out);
  return layout == PredictLayout::kRow ? WriteRows(outputs, json) : WriteColumns(outputs, json);
}

absl::Status AppendClassifyResponse(const ClassifyResult& result, std::string* out) {
  if (result.num_examples == 0) {
    return absl::InvalidArgumentError("Cannot convert empty ClassificationResults to JSON");
  }
  JsonWriter json(out);
  json.StartObject();
  json.Key("results");
  json.StartArray();
  json.set_arrays_on_one_line(true);
  for (int64_t i = 0; i < result.num_examples; ++i) {
    json.StartArray();
    for (int64_t k = 0; k < result.num_classes; ++k) {
      json.StartArray();
      json.String(result.label(i, k));
      json.Number(result.score(i, k));
      json.EndArray();
    }
    json.EndArray();
  }
  json.set_arrays_on_one_line(false);
  json.EndArray();
  json.EndObject();
  return absl::OkStatus();
}

absl::Status AppendRegressResponse(const RegressResult& result, std::string* out) {
  if (result.values.num_elements() == 0) {
    return absl::InvalidArgumentError("Cannot convert empty RegressionResults to JSON");
  }
  JsonWriter json(out);
  json.StartObject();
  json.Key("results");
  json.set_arrays_on_one_line(true);
  json.StartArray();
  json.Numbers(result.values.flat<float>());
  json.EndArray();
  json.EndObject();
  return absl::OkStatus();
}

std::string JsonErrorBody(absl::string_view message) {
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  json.Key("error");
  json.String(message);
  json.EndObject();
  return text;
}

}  // namespace tessera::serving
