#include "serving/commands/input_value.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/commands/npy_file.h"
#include "serving/frontend/json/json_predict_request.h"

namespace tessera::serving {
namespace {

// Checks that the text is one value and nothing else. The decoder would ignore text after the
// value.
absl::Status CheckJson(absl::string_view json, DType dtype) {
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  rapidjson::BaseReaderHandler<> ignore;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, ignore);
  if (!result.IsError()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "no JSON value: ", rapidjson::GetParseError_En(result.Code()), " (at byte ", result.Offset(),
      ")", dtype == DType::kString ? "; a text stands in double quotes" : ""));
}

absl::StatusOr<Tensor> FromJson(DType dtype, absl::string_view json) {
  RETURN_IF_ERROR(CheckJson(json, dtype));
  const InputType type{"value", dtype};
  PredictBody body;
  RETURN_IF_ERROR(DecodePredictBody(
      absl::StrCat("{\"inputs\": {\"value\": ", json, "}}"),
      [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
        return absl::MakeConstSpan(&type, 1);
      },
      &body));
  return std::move(body.inputs.at(0).second);
}

absl::StatusOr<Tensor> FromNpy(DType dtype, absl::string_view bytes) {
  ASSIGN_OR_RETURN(Tensor tensor, ParseNpy(bytes));
  if (tensor.dtype() == dtype) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat("the file holds ", DTypeName(tensor.dtype()), ", the signature takes ",
                   DTypeName(dtype), ": convert it before saving, with array.astype()"));
}

}  // namespace

absl::StatusOr<Tensor> ReadInputValue(const TensorInfo& input, const std::string& value,
                                      const ImageOptions& image_options) {
  if (!absl::StartsWith(value, "@")) return FromJson(input.dtype, value);
  const std::string path = value.substr(1);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (absl::EndsWith(path, ".npy")) return FromNpy(input.dtype, bytes);
  return IsImage(bytes) ? ReadImage(input, bytes, image_options) : FromJson(input.dtype, bytes);
}

}  // namespace tessera::serving
