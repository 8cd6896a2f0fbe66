// Any bytes as the body of an inference of KServe's protocol, with any length of its JSON: reading
// fails with a status or gives tensors of the datatypes and shapes that the body states, and these
// come back as the same once they are written as a binary response and read again. What the fast
// path for numbers reads is what the general path reads.
// The input is two bytes with the length of the JSON, where 0xffff stands for all, and the body.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "serving/frontend/kserve/datatype.h"
#include "serving/frontend/kserve/json_infer.h"
#include "serving/frontend/kserve/json_numeric_infer.h"
#include "serving/frontend/kserve/json_tensor.h"
#include "serving/frontend/kserve/raw_contents.h"

namespace tessera::serving {
namespace {

constexpr uint64_t kWholeBody = 0xffff;

ModelInfo OneInput() {
  ModelInfo model;
  model.id = {"m", 1};
  SignatureInfo& signature = model.signatures[std::string(kDefaultSignature)];
  signature.inputs["x"] = {DType::kFloat, PartialShape{-1, 2}};
  signature.outputs["y"] = {DType::kFloat, PartialShape{-1, 2}};
  return model;
}

void CheckWritten(const Tensor& tensor) {
  std::string raw(RawSize(tensor), '\0');
  CHECK(WriteRaw(tensor, raw.data()) == raw.data() + raw.size());
  const absl::string_view piece = raw;
  const absl::StatusOr<Tensor> again =
      TensorFromRaw(tensor.dtype(), tensor.shape(), WireReader(absl::MakeConstSpan(&piece, 1)),
                    [](const char*) { return nullptr; });
  CHECK(again.ok()) << again.status();
  std::string raw_again(RawSize(*again), '\0');
  WriteRaw(*again, raw_again.data());
  CHECK(raw == raw_again);
}

// Compares what both paths make of a body.
void CheckNumbers(absl::string_view json) {
  InferRequest request;
  absl::InlinedVector<JsonNumbersText, 2> numbers;
  if (!ReadNumericInfer(json, &request, &numbers)) return;
  JsonDocument document;
  // What is wrong in a list is found later.
  if (!ParseJsonObject(json, &document, JsonDialect::kExact).ok()) return;
  const JsonValue& inputs = *FindMember(document, "inputs");
  CHECK(inputs.Size() == numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const InferInput& input = request.inputs[i];
    const JsonValue& value = inputs[static_cast<unsigned>(i)];
    CHECK(TextOf(*FindMember(value, "name")) == input.name);
    CHECK(FindMember(value, "shape")->Size() == input.shape.size());
    const DType dtype = DTypeOfDatatype(input.datatype);
    const absl::StatusOr<Shape> shape = Shape::Make(input.shape);
    Tensor quick;
    if (dtype == DType::kInvalid || !shape.ok()) continue;
    if (!TensorFromNumbers(numbers[i], dtype, *shape, &quick)) continue;
    const absl::StatusOr<Tensor> general =
        TensorFromJson(dtype, *shape, *FindMember(value, "data"));
    CHECK(general.ok()) << general.status();
    CHECK(absl::string_view(quick.raw(), quick.size_bytes()) ==
          absl::string_view(general->raw(), general->size_bytes()));
  }
}

void Check(std::string body, std::optional<uint64_t> json_length) {
  static const auto* const model = new ModelInfo(OneInput());
  if (!json_length) CheckNumbers(body);
  JsonInferRequest request;
  if (!request.Read(std::move(body), json_length, *model).ok()) return;
  PredictResult result;
  for (size_t i = 0; i < request.request().inputs.size(); ++i) {
    const InferInput& input = request.request().inputs[i];
    const DType dtype = DTypeOfDatatype(input.datatype);
    const absl::StatusOr<Shape> shape = Shape::Make(input.shape);
    if (dtype == DType::kInvalid || !shape.ok()) continue;
    const absl::StatusOr<Tensor> tensor = request.Elements(i, dtype, *shape);
    if (!tensor.ok()) continue;
    CHECK(tensor->dtype() == dtype && tensor->shape() == *shape);
    CheckWritten(*tensor);
    result.outputs.push_back({input.name, *tensor});
  }
  const absl::StatusOr<JsonInferResponse> response = WriteInferResponse(request, model->id, result);
  if (response.ok()) CHECK(response->json_length.value_or(0) <= response->body.size());
}

}  // namespace
}  // namespace tessera::serving

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::serving;  // NOLINT: within a function
  if (size < 2) return 0;
  const uint64_t length = data[0] | uint64_t{data[1]} << 8;
  Check(std::string(reinterpret_cast<const char*>(data) + 2, size - 2),
        length == kWholeBody ? std::nullopt : std::optional<uint64_t>(length));
  return 0;
}
