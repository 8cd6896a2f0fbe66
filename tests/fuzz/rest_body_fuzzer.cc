// Any bytes as the body of a REST request: decoding fails with a status or gives tensors that, once
// written as a reply, are read again as the same; arrays of numbers read the same by the short way
// and by the long one.
// The input is a byte that chooses the signature and whether the body is gzip, and the body.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "serving/frontend/http/http_inflate.h"
#include "serving/frontend/json/json_examples_request.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/json/json_response.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera::serving {
namespace {

// Far more than libFuzzer's inputs have, far less than would slow it down.
constexpr size_t kMaxInflatedBytes = 1 << 20;

constexpr DType kTypes[] = {
    DType::kFloat, DType::kDouble, DType::kInt32,  DType::kInt64, DType::kUint8,  DType::kInt8,
    DType::kInt16, DType::kUint32, DType::kUint64, DType::kBool,  DType::kString, DType::kHalf,
};

using Decoder = absl::Status (*)(absl::string_view, FindInputTypes, PredictBody*);

// Every tensor read must be of the type asked for.
absl::Status Decode(Decoder decoder, absl::string_view json, const std::vector<InputType>& types,
                    PredictBody* body) {
  const absl::Status status = decoder(
      json, [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> { return types; },
      body);
  if (!status.ok()) return status;
  CHECK(body->inputs.size() == types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    CHECK(body->inputs[i].first == types[i].name);
    CHECK(body->inputs[i].second.dtype() == types[i].dtype);
  }
  return status;
}

void CheckSame(const PredictBody& got, const PredictBody& want, const Tolerance& tolerance) {
  CHECK(got.inputs.size() == want.inputs.size());
  for (size_t i = 0; i < got.inputs.size(); ++i) {
    const std::string difference =
        FirstDifference(got.inputs[i].second, want.inputs[i].second, tolerance);
    CHECK(difference.empty()) << difference;
  }
}

// What a reply cannot tell: the shape behind a dimension of 0.
bool HasElements(const PredictBody& body) {
  for (const auto& [name, tensor] : body.inputs) {
    if (tensor.num_elements() == 0) return false;
  }
  return true;
}

// {"outputs": ...} holds tensors as {"inputs": ...} does.
void CheckReply(const PredictBody& body, const std::vector<InputType>& types) {
  std::vector<NamedOutput> outputs;
  for (const auto& [name, tensor] : body.inputs) outputs.push_back({name, tensor});
  std::string rows;
  const absl::Status written = AppendPredictResponse(PredictLayout::kRow, outputs, &rows);
  if (body.layout == PredictLayout::kRow) CHECK(written.ok()) << written;

  std::string columns;
  CHECK(AppendPredictResponse(PredictLayout::kColumnar, outputs, &columns).ok());
  if (!HasElements(body)) return;
  const std::string key = "\"outputs\"";
  columns.replace(columns.find(key), key.size(), "\"inputs\"");
  PredictBody again;
  const absl::Status status = Decode(DecodePredictBody, columns, types, &again);
  CHECK(status.ok()) << status << "\n" << columns;
  // The parser may be off by one in the last place of a double, as upstream's is.
  CheckSame(again, body, {.rtol = 1e-15, .atol = 0.0});
}

void CheckPredict(absl::string_view json, const std::vector<InputType>& types) {
  PredictBody body;
  const absl::Status status = Decode(DecodePredictBody, json, types, &body);
  PredictBody by_document;
  const absl::Status long_way = Decode(DecodePredictBodyByDocument, json, types, &by_document);
  CHECK(status == long_way) << status << " instead of " << long_way;
  if (!status.ok()) {
    CHECK(!JsonErrorBody(status.message()).empty());
    return;
  }
  CHECK(body.layout == by_document.layout && body.signature_name == by_document.signature_name);
  CheckSame(body, by_document, {.rtol = 0.0, .atol = 0.0});
  CheckReply(body, types);
}

void CheckExamples(absl::string_view json) {
  ExamplesBody body;
  if (!DecodeExamplesBody(json, &body).ok()) return;
  const auto& list = body.input.example_list_with_context();
  CHECK(list.examples_size() + body.input.example_list().examples_size() > 0);
}

}  // namespace
}  // namespace tessera::serving

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::serving;  // NOLINT: within a function
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  absl::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string inflated;
  if (choice & 0x80) {
    if (!InflateGzip(body, kMaxInflatedBytes, &inflated).ok()) CHECK(inflated.empty());
    body = inflated;
  }
  std::vector<InputType> types = {{"x", kTypes[(choice & 0x1f) % std::size(kTypes)]}};
  if (choice & 0x20) types.push_back({"y_bytes", tessera::DType::kString});
  if (choice & 0x40) types.insert(types.begin(), {"a", tessera::DType::kFloat});
  CheckPredict(body, types);
  CheckExamples(body);
  return 0;
}
