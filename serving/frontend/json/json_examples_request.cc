#include "serving/frontend/json/json_examples_request.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_document.h"
#include "tensorflow/core/example/example.pb.h"
#include "tensorflow/core/example/feature.pb.h"

namespace tessera::serving {
namespace {

using tensorflow::Feature;

absl::string_view KindName(Feature::KindCase kind) {
  switch (kind) {
    case Feature::kBytesList:
      return "bytes";
    case Feature::kInt64List:
      return "int64";
    case Feature::kFloatList:
      return "float";
    case Feature::KIND_NOT_SET:
      break;
  }
  return "none";
}

// Returns KIND_NOT_SET for a value that no feature can hold.
Feature::KindCase KindOf(const JsonValue& value) {
  if (value.IsString() || IsBase64Object(value)) return Feature::kBytesList;
  if (value.IsBool() || value.IsInt64() || value.IsUint64()) return Feature::kInt64List;
  if (value.IsDouble()) return Feature::kFloatList;
  return Feature::KIND_NOT_SET;
}

absl::Status AddValue(absl::string_view name, const JsonValue& value, Feature* feature) {
  const Feature::KindCase kind = KindOf(value);
  if (kind == Feature::KIND_NOT_SET) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Feature: ", name, " has element with unexpected JSON type: ", JsonTypeName(value),
        ", JSON Value: ", QuoteJson(value)));
  }
  const Feature::KindCase expected = feature->kind_case();
  if (expected != Feature::KIND_NOT_SET && expected != kind) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Unexpected element type in feature: ", name, " expecting type: ", KindName(expected),
        " but got: ", KindName(kind), ", JSON Value: ", QuoteJson(value)));
  }
  switch (kind) {
    case Feature::kBytesList: {
      std::string* bytes = feature->mutable_bytes_list()->add_value();
      if (value.IsObject()) return DecodeBase64Object(value, bytes);
      bytes->assign(value.GetString(), value.GetStringLength());
      break;
    }
    case Feature::kInt64List:
      if (value.IsUint64() && !value.IsInt64()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Feature: ", name, " has value: ", QuoteJson(value),
                         " that is out of range. Only int64_t is supported."));
      }
      feature->mutable_int64_list()->add_value(value.IsBool() ? value.GetBool() : value.GetInt64());
      break;
    default:
      feature->mutable_float_list()->add_value(static_cast<float>(value.GetDouble()));
  }
  return absl::OkStatus();
}

absl::Status FillExample(const JsonValue& value, tensorflow::Example* example) {
  if (!value.IsObject()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Example must be JSON object but got JSON ", JsonTypeName(value)));
  }
  auto& features = *example->mutable_features()->mutable_feature();
  for (const auto& member : value.GetObject()) {
    const absl::string_view name = TextOf(member.name);
    const auto [it, is_new] = features.insert({std::string(name), Feature()});
    if (!is_new) continue;  // given twice; the first counts
    if (!member.value.IsArray()) {
      RETURN_IF_ERROR(AddValue(name, member.value, &it->second));
      continue;
    }
    for (const JsonValue& element : member.value.GetArray()) {
      RETURN_IF_ERROR(AddValue(name, element, &it->second));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeExamplesBody(absl::string_view json, ExamplesBody* body) {
  JsonDocument document;
  RETURN_IF_ERROR(ParseJsonObject(json, &document));
  RETURN_IF_ERROR(ReadSignatureName(document, &body->signature_name));
  body->input.Clear();
  const JsonValue* context = FindMember(document, "context");
  if (context != nullptr) {
    RETURN_IF_ERROR(
        FillExample(*context, body->input.mutable_example_list_with_context()->mutable_context()));
  }
  const JsonValue* examples = FindMember(document, "examples");
  if (examples == nullptr) {
    return absl::InvalidArgumentError(
        "key 'examples' is expected and was not found in the request");
  }
  if (!examples->IsArray() || examples->Empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expecting 'examples' value to be a non-empty list/array, but got: ",
                     QuoteJson(*examples)));
  }
  for (const JsonValue& example : examples->GetArray()) {
    RETURN_IF_ERROR(
        FillExample(example, context != nullptr
                                 ? body->input.mutable_example_list_with_context()->add_examples()
                                 : body->input.mutable_example_list()->add_examples()));
  }
  return absl::OkStatus();
}

}  // namespace tessera::serving
