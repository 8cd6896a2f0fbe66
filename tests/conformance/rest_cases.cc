// Recorded cases of the REST API's text, against the code that reads and writes it.
//
//   rest_cases < rest_cases.jsonl
//   rest_cases --all_messages < rest_cases.jsonl
//
// Standard input has a case a line, as tests/data/README.md describes them; of the kinds that
// need a running server nothing is said. Prints "PASS id" or "FAIL id reason" for each and ends
// with 0 if none failed. How an error is worded counts only where clients are known to read it
// (basis "upstream_test"), or everywhere with --all_messages.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/json/json_examples_request.h"
#include "serving/frontend/json/json_number.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/json/json_response.h"
#include "serving/frontend/rest/rest_path.h"
#include "tensorflow/core/example/example.pb.h"

namespace tessera::serving {
namespace {

using Json = rapidjson::Value;
// What is wrong, or nothing.
using Difference = std::optional<std::string>;

std::string TextOf(const Json& value) {
  return std::string(value.GetString(), value.GetStringLength());
}

std::string Quote(const Json& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return std::string(buffer.GetString(), std::min<size_t>(buffer.GetSize(), 300));
}

// Numbers that JSON has not are strings.
double NumberOf(const Json& value) {
  return value.IsString() ? std::strtod(value.GetString(), nullptr) : value.GetDouble();
}

std::string BytesOf(const Json& value) {
  std::string bytes;
  if (value.IsString()) return TextOf(value);
  absl::Base64Unescape(TextOf(value["b64"]), &bytes);
  return bytes;
}

template <typename T>
T ElementOf(const Json& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return BytesOf(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.GetBool();
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(NumberOf(value));
  } else {
    return value.IsInt64() ? static_cast<T>(value.GetInt64()) : static_cast<T>(value.GetUint64());
  }
}

template <typename T>
Tensor TensorOfType(const Shape& shape, const Json& values) {
  Tensor tensor = *Tensor::Zeros(DTypeOf<T>, shape);
  for (rapidjson::SizeType i = 0; i < values.Size(); ++i) {
    tensor.flat<T>()[i] = ElementOf<T>(values[i]);
  }
  return tensor;
}

// {dtype, shape, values}; of types without a JSON form, zeros.
Tensor TensorOf(const Json& json) {
  std::vector<int64_t> dims;
  for (const Json& dim : json["shape"].GetArray()) dims.push_back(dim.GetInt64());
  const Shape shape(dims);
  const Json& values = json["values"];
  switch (const DType dtype = DTypeFromName(TextOf(json["dtype"]))) {
    case DType::kFloat:
      return TensorOfType<float>(shape, values);
    case DType::kDouble:
      return TensorOfType<double>(shape, values);
    case DType::kInt8:
      return TensorOfType<int8_t>(shape, values);
    case DType::kInt16:
      return TensorOfType<int16_t>(shape, values);
    case DType::kInt32:
      return TensorOfType<int32_t>(shape, values);
    case DType::kInt64:
      return TensorOfType<int64_t>(shape, values);
    case DType::kUint8:
      return TensorOfType<uint8_t>(shape, values);
    case DType::kUint32:
      return TensorOfType<uint32_t>(shape, values);
    case DType::kUint64:
      return TensorOfType<uint64_t>(shape, values);
    case DType::kBool:
      return TensorOfType<bool>(shape, values);
    case DType::kString:
      return TensorOfType<std::string>(shape, values);
    default:
      return *Tensor::Zeros(dtype, shape);
  }
}

bool AreSame(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) return a.flat<std::string>() == b.flat<std::string>();
  return absl::string_view(a.raw(), a.size_bytes()) == absl::string_view(b.raw(), b.size_bytes());
}

// `body`, or the parts of `body_recipe`: texts, and [text, times].
std::string BodyOf(const Json& input) {
  if (!input.HasMember("body_recipe")) return TextOf(input["body"]);
  std::string body;
  for (const Json& part : input["body_recipe"].GetArray()) {
    if (part.IsString()) {
      body += TextOf(part);
    } else {
      for (int i = 0; i < part[1].GetInt(); ++i) body += TextOf(part[0]);
    }
  }
  return body;
}

Difference Differ(absl::string_view what, absl::string_view got, absl::string_view expected) {
  if (got == expected) return std::nullopt;
  return absl::StrCat(what, " is '", absl::CEscape(got), "', expected '", absl::CEscape(expected),
                      "'");
}

class Checker {
 public:
  explicit Checker(bool all_messages) : all_messages_(all_messages) {}

  // Nothing for a case of another kind.
  std::optional<Difference> Check(const Json& test) {
    binding_message_ = all_messages_ || TextOf(test["basis"]) == "upstream_test";
    const std::string op = TextOf(test["op"]);
    const Json& input = test["input"];
    const Json& expect = test["expect"];
    if (op == "predict_request") return CheckPredictRequest(input, expect);
    if (op == "predict_response") return CheckPredictResponse(input, expect);
    if (op == "number") return CheckNumber(input, expect);
    if (op == "examples_request") return CheckExamplesRequest(input, expect);
    if (op == "classify_response") return CheckClassifyResponse(input, expect);
    if (op == "regress_response") return CheckRegressResponse(input, expect);
    if (op == "error_body") {
      return CheckText(absl::OkStatus(), JsonErrorBody(TextOf(input["message"])), expect);
    }
    if (op == "path") return CheckPath(input, expect);
    return std::nullopt;
  }

 private:
  // Of cases that expect an error, all there is to check; else that there is none.
  Difference CheckStatus(const absl::Status& status, const Json& expect) const {
    if (!expect.HasMember("error")) {
      return status.ok() ? Difference() : absl::StrCat("unexpected error: ", status.ToString());
    }
    const Json& error = expect["error"];
    const std::string code = absl::StatusCodeToString(status.code());
    if (Difference d = Differ("the code", code, TextOf(error["code"]))) return d;
    const std::string message(status.message());
    if (binding_message_ && error.HasMember("message_contains") &&
        !absl::StrContains(message, TextOf(error["message_contains"]))) {
      return absl::StrCat("the message is '", message, "', expected to contain '",
                          TextOf(error["message_contains"]), "'");
    }
    return std::nullopt;
  }

  Difference CheckText(const absl::Status& status, const std::string& text,
                       const Json& expect) const {
    Difference difference = CheckStatus(status, expect);
    if (difference || !status.ok()) return difference;
    const std::string expected = TextOf(expect["json"]);
    difference = Differ("the text", text, expected);
    if (!difference || expect["exact_bytes"].GetBool()) return difference;
    constexpr unsigned kFlags = rapidjson::kParseNanAndInfFlag;
    rapidjson::Document got, wanted;
    got.Parse<kFlags>(text.data(), text.size());
    wanted.Parse<kFlags>(expected.data(), expected.size());
    if (got.HasParseError() || wanted.HasParseError() || got != wanted) return difference;
    return std::nullopt;
  }

  Difference CheckPredictRequest(const Json& input, const Json& expect) const {
    std::vector<InputType> types;
    for (const auto& member : input["signature_inputs"].GetObject()) {
      types.push_back({member.name.GetString(), DTypeFromName(TextOf(member.value))});
    }
    std::sort(types.begin(), types.end(),
              [](const InputType& a, const InputType& b) { return a.name < b.name; });
    const auto find = [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
      return types;
    };
    PredictBody body;
    const absl::Status status = DecodePredictBody(BodyOf(input), find, &body);
    if (Difference d = CheckStatus(status, expect); d || !status.ok()) return d;
    const bool is_row = body.layout == PredictLayout::kRow;
    if (Difference d =
            Differ("the format", is_row ? "row" : "columnar", TextOf(expect["format"]))) {
      return d;
    }
    if (Difference d =
            Differ("the signature", body.signature_name, TextOf(expect["signature_name"]))) {
      return d;
    }
    const auto& tensors = expect["tensors"];
    if (body.inputs.size() != tensors.MemberCount()) {
      return absl::StrCat("there are ", body.inputs.size(), " inputs");
    }
    for (const auto& [name, tensor] : body.inputs) {
      const std::string key(name);
      if (!tensors.HasMember(key.c_str())) return absl::StrCat("there is an input ", key);
      const Tensor expected = TensorOf(tensors[key.c_str()]);
      if (!AreSame(tensor, expected)) {
        return absl::StrCat(key, " is ", tensor.ToString(), ", expected ", expected.ToString());
      }
    }
    return std::nullopt;
  }

  Difference CheckPredictResponse(const Json& input, const Json& expect) const {
    std::vector<NamedOutput> outputs;
    for (const auto& member : input["tensors"].GetObject()) {
      outputs.push_back({member.name.GetString(), TensorOf(member.value)});
    }
    std::string text;
    const auto layout =
        TextOf(input["format"]) == "row" ? PredictLayout::kRow : PredictLayout::kColumnar;
    const absl::Status status = AppendPredictResponse(layout, outputs, &text);
    return CheckText(status, text, expect);
  }

  Difference CheckNumber(const Json& input, const Json& expect) const {
    const double value = std::strtod(input["value_hex"].GetString(), nullptr);
    const std::string text = TextOf(input["dtype"]) == "DT_FLOAT"
                                 ? JsonNumber(static_cast<float>(value))
                                 : JsonNumber(value);
    return Differ("the number", text, TextOf(expect["text"]));
  }

  Difference CheckExample(const tensorflow::Example& example, const Json& expect) const {
    const auto& features = example.features().feature();
    if (features.size() != expect.MemberCount()) {
      return absl::StrCat("there are ", features.size(), " features, expected ", Quote(expect));
    }
    for (const auto& member : expect.GetObject()) {
      auto it = features.find(TextOf(member.name));
      if (it == features.end()) return absl::StrCat("there is no feature ", TextOf(member.name));
      const tensorflow::Feature& feature = it->second;
      const Json& values = member.value["values"];
      const bool has_kind = member.value["kind"].IsString();
      const std::string kind = has_kind ? TextOf(member.value["kind"]) : "none";
      bool same = false;
      auto compare = [&](bool is_kind, const auto& list, auto element) {
        if (!is_kind || list.size() != static_cast<int>(values.Size())) return;
        same = true;
        for (int i = 0; i < list.size(); ++i) same = same && list.Get(i) == element(values[i]);
      };
      if (kind == "bytes") {
        compare(feature.has_bytes_list(), feature.bytes_list().value(), BytesOf);
      } else if (kind == "int64") {
        compare(feature.has_int64_list(), feature.int64_list().value(), ElementOf<int64_t>);
      } else if (kind == "float") {
        // As text: NaN equals nothing.
        compare(feature.has_float_list(), feature.float_list().value(), ElementOf<float>);
        if (!same && feature.float_list().value_size() == 1) {
          same = std::isnan(feature.float_list().value(0)) && std::isnan(NumberOf(values[0]));
        }
      } else {
        same = feature.kind_case() == tensorflow::Feature::KIND_NOT_SET;
      }
      if (!same) {
        return absl::StrCat("feature ", TextOf(member.name), " is ", feature.ShortDebugString(),
                            ", expected ", Quote(member.value));
      }
    }
    return std::nullopt;
  }

  Difference CheckExamplesRequest(const Json& input, const Json& expect) const {
    ExamplesBody body;
    const absl::Status status = DecodeExamplesBody(BodyOf(input), &body);
    if (Difference d = CheckStatus(status, expect); d || !status.ok()) return d;
    if (Difference d =
            Differ("the signature", body.signature_name, TextOf(expect["signature_name"]))) {
      return d;
    }
    const bool with_context = body.input.has_example_list_with_context();
    if (with_context == expect["context"].IsNull()) return "it is of the other form of context";
    const auto& list = body.input.example_list_with_context();
    if (with_context) {
      if (Difference d = CheckExample(list.context(), expect["context"])) return d;
    }
    const auto& examples = with_context ? list.examples() : body.input.example_list().examples();
    if (examples.size() != expect["examples"].Size()) return "the number of examples is another";
    for (int i = 0; i < examples.size(); ++i) {
      if (Difference d = CheckExample(examples[i], expect["examples"][i])) return d;
    }
    return std::nullopt;
  }

  Difference CheckClassifyResponse(const Json& input, const Json& expect) const {
    const Json& rows = input["classifications"];
    ClassifyResult result;
    result.num_examples = rows.Size();
    result.num_classes = rows.Empty() ? 0 : rows[0].Size();
    const Shape shape{result.num_examples, result.num_classes};
    result.labels = *Tensor::Zeros(DType::kString, shape);
    result.scores = *Tensor::Zeros(DType::kFloat, shape);
    int64_t i = 0;
    for (const Json& row : rows.GetArray()) {
      if (row.Size() != result.num_classes) return "rows of different length are no tensor";
      for (const Json& entry : row.GetArray()) {
        result.labels.flat<std::string>()[i] = TextOf(entry[0]);
        result.scores.flat<float>()[i++] = static_cast<float>(NumberOf(entry[1]));
      }
    }
    std::string text;
    const absl::Status status = AppendClassifyResponse(result, &text);
    return CheckText(status, text, expect);
  }

  Difference CheckRegressResponse(const Json& input, const Json& expect) const {
    const Json& values = input["regressions"];
    RegressResult result;
    result.values = TensorOfType<float>({static_cast<int64_t>(values.Size())}, values);
    std::string text;
    const absl::Status status = AppendRegressResponse(result, &text);
    return CheckText(status, text, expect);
  }

  Difference CheckPath(const Json& input, const Json& expect) const {
    const auto target = ParseRestPath(TextOf(input["method"]), TextOf(input["path"]));
    if (Difference d = CheckStatus(target.status(), expect); d || !target.ok()) return d;
    if (Difference d = Differ("the model", target->model, TextOf(expect["model"]))) return d;
    if (Difference d = Differ("the action", target->action, TextOf(expect["action"]))) return d;
    const Json& version = expect["version"];
    const std::string version_text = version.IsNull() ? "none" : absl::StrCat(version.GetInt64());
    if (Difference d =
            Differ("the version", target->version ? absl::StrCat(*target->version) : "none",
                   version_text)) {
      return d;
    }
    const Json& label = expect["label"];
    return Differ("the label", target->label.value_or("none"),
                  label.IsNull() ? "none" : TextOf(label));
  }

  const bool all_messages_;
  bool binding_message_ = false;
};

int Run(bool all_messages) {
  Checker checker(all_messages);
  int failures = 0;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.find_first_not_of(" \r") == std::string::npos) continue;
    rapidjson::Document test;
    test.Parse<rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    if (test.HasParseError() || !test.IsObject() || !test.HasMember("id")) {
      std::cout << "FAIL - this line is no case: " << line.substr(0, 100) << "\n";
      ++failures;
      continue;
    }
    const std::optional<Difference> result = checker.Check(test);
    if (!result) continue;
    if (*result) ++failures;
    std::cout << (*result ? "FAIL " : "PASS ") << TextOf(test["id"]);
    if (*result) std::cout << " " << **result;
    std::cout << "\n";
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::serving

int main(int argc, char** argv) {
  return tessera::serving::Run(argc > 1 && absl::string_view(argv[1]) == "--all_messages");
}
