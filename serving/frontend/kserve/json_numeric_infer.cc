#include "serving/frontend/kserve/json_numeric_infer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_number_lists.h"
#include "serving/frontend/json/json_text_scanner.h"

namespace tessera::serving {
namespace {

// Reads {"key": VALUE, ...}. Each value is read by `read`, which returns false if it cannot.
bool ReadObject(JsonTextScanner& in, absl::FunctionRef<bool(absl::string_view key)> read) {
  if (!in.Consume('{')) return false;
  do {
    const std::optional<absl::string_view> key = in.String();
    if (!key || !in.Consume(':') || !read(*key)) return false;
  } while (in.Consume(','));
  return in.Consume('}');
}

// Reads [VALUE, ...], which is not empty.
bool ReadList(JsonTextScanner& in, absl::FunctionRef<bool()> read) {
  if (!in.Consume('[')) return false;
  do {
    if (!read()) return false;
  } while (in.Consume(','));
  return in.Consume(']');
}

bool ReadText(JsonTextScanner& in, std::optional<std::string>* text) {
  const std::optional<absl::string_view> read = in.String();
  if (!read || text->has_value()) return false;
  text->emplace(*read);
  return true;
}

// Reads a member that may stand once only.
bool ReadParameters(JsonTextScanner& in, InferParameters* parameters) {
  if (!parameters->empty()) return false;
  return ReadObject(in, [&](absl::string_view name) {
    InferParameter& parameter = parameters->emplace_back();
    parameter.name = std::string(name);
    if (in.Literal("true")) {
      parameter.value = true;
    } else if (in.Literal("false")) {
      parameter.value = false;
    } else {
      const std::optional<absl::string_view> text = in.String();
      if (!text) return false;
      parameter.value = std::string(*text);
    }
    return true;
  });
}

bool ReadShape(JsonTextScanner& in, absl::InlinedVector<int64_t, 6>* shape) {
  return shape->empty() && ReadList(in, [&] { return in.Integer(&shape->emplace_back()); });
}

bool ReadInput(JsonTextScanner& in, InferInput* input, JsonNumbersText* numbers) {
  std::optional<std::string> name, datatype;
  const auto read = [&](absl::string_view key) {
    if (key == "name") return ReadText(in, &name);
    if (key == "datatype") return ReadText(in, &datatype);
    if (key == "shape") return ReadShape(in, &input->shape);
    if (key != "data" || !numbers->text.empty()) return false;
    numbers->text = SkipNumberLists(in).value_or(absl::string_view());
    return !numbers->text.empty();
  };
  if (!ReadObject(in, read)) return false;
  if (!name || !datatype || input->shape.empty() || numbers->text.empty()) return false;
  input->name = *std::move(name);
  input->datatype = *std::move(datatype);
  return true;
}

bool ReadOutput(JsonTextScanner& in, InferOutput* output) {
  std::optional<std::string> name;
  const auto read = [&](absl::string_view key) {
    if (key == "name") return ReadText(in, &name);
    return key == "parameters" && ReadParameters(in, &output->parameters);
  };
  if (!ReadObject(in, read) || !name) return false;
  output->name = *std::move(name);
  return true;
}

}  // namespace

bool ReadNumericInfer(absl::string_view json, InferRequest* request,
                      absl::InlinedVector<JsonNumbersText, 2>* numbers) {
  if (json.size() > kMaxJsonBytes) return false;
  JsonTextScanner in{json.data(), json.data() + json.size()};
  std::optional<std::string> id;
  const auto read_input = [&] {
    return ReadInput(in, &request->inputs.emplace_back(), &numbers->emplace_back());
  };
  const auto read_output = [&] { return ReadOutput(in, &request->outputs.emplace_back()); };
  const auto read = [&](absl::string_view key) {
    if (key == "id") return ReadText(in, &id);
    if (key == "parameters") return ReadParameters(in, &request->parameters);
    if (key == "inputs") return request->inputs.empty() && ReadList(in, read_input);
    return key == "outputs" && request->outputs.empty() && ReadList(in, read_output);
  };
  if (!ReadObject(in, read) || in.p != in.end || request->inputs.empty()) return false;
  request->id = std::move(id).value_or(std::string());
  return true;
}

bool TensorFromNumbers(JsonNumbersText numbers, DType dtype, const Shape& shape, Tensor* tensor) {
  JsonTextScanner in{numbers.text.data(), numbers.text.data() + numbers.text.size()};
  Tensor read;
  if (!ReadNumberLists(in, dtype, JsonDialect::kExact, &read) || in.p != in.end) return false;
  const bool is_flat = read.shape().rank() == 1 && read.num_elements() == shape.num_elements();
  if (!is_flat && read.shape() != shape) return false;
  absl::StatusOr<Tensor> reshaped = std::move(read).Reshaped(shape);
  if (reshaped.ok()) *tensor = *std::move(reshaped);
  return reshaped.ok();
}

}  // namespace tessera::serving
