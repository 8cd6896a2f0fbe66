#include "runtime/training/program/fixed_values.h"

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The value of a text as T, if it is one.
template <typename T>
std::optional<Tensor> Parse(const std::string& text) {
  T value;
  if constexpr (std::is_same_v<T, bool>) {
    if (!absl::SimpleAtob(text, &value)) return std::nullopt;
  } else if constexpr (std::is_same_v<T, float>) {
    if (!absl::SimpleAtof(text, &value)) return std::nullopt;
  } else if constexpr (std::is_same_v<T, double>) {
    if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t> wide;
    if (!absl::SimpleAtoi(text, &wide)) return std::nullopt;
    value = static_cast<T>(wide);
    if (static_cast<decltype(wide)>(value) != wide) return std::nullopt;
  } else {  // of 16 bits
    float wide;
    if (!absl::SimpleAtof(text, &wide)) return std::nullopt;
    value = static_cast<T>(wide);
  }
  return Tensor::Scalar(value);
}

std::optional<Tensor> ParseScalar(DType dtype, const std::string& text) {
  if (dtype == DType::kBool) return Parse<bool>(text);
  if (dtype == DType::kString) return Tensor::Scalar(text);
  std::optional<Tensor> value;
  const absl::Status status = VisitRealType(dtype, [&]<typename T>() {
    value = Parse<T>(text);
    return absl::OkStatus();
  });
  return status.ok() ? value : std::nullopt;
}

}  // namespace

absl::StatusOr<bool> FixedValues::Take(const std::string& name, const BatchInput& input,
                                       std::vector<NamedTensor>* constants) const {
  auto text = texts.find(name);
  if (text == texts.end()) text = texts.find(absl::StrCat(name, ":0"));
  if (text == texts.end()) return false;
  if (!input.shape.IsCompatibleWith(Shape())) {
    return absl::InvalidArgumentError(absl::StrCat("graph.", block, " gives a number to '", name,
                                                   "', whose shape is ", input.shape.ToString(),
                                                   ": feed it by a field of the batch"));
  }
  std::optional<Tensor> value = ParseScalar(input.dtype, text->second);
  if (!value) {
    return absl::InvalidArgumentError(absl::StrCat("graph.", block, ".", name, " is '",
                                                   text->second, "', which is no ",
                                                   DTypeName(input.dtype)));
  }
  constants->emplace_back(input.tensor, *std::move(value));
  return true;
}

absl::Status ReplacePlaceholders(const FixedValues& values, Graph* graph) {
  for (const auto& [name, text] : values.texts) {
    const std::string node_name = name.substr(0, name.find(':'));
    Node* const placeholder = graph->FindNode(node_name);
    if (placeholder == nullptr) continue;
    BatchInput input{.tensor = node_name, .dtype = RemoveRef(placeholder->output_type(0))};
    std::vector<NamedTensor> constant;
    RETURN_IF_ERROR(values.Take(node_name, input, &constant).status());
    ASSIGN_OR_RETURN(Node* const node,
                     graph->AddNode(graph->UniqueName(absl::StrCat(node_name, "/value")), "Const",
                                    {{"dtype", input.dtype}, {"value", constant[0].second}}));
    RETURN_IF_ERROR(graph->ReplaceUses({placeholder, 0}, {node, 0}));
    graph->MoveControlOutputs(placeholder, node);
    graph->Remove(placeholder);
  }
  return absl::OkStatus();
}

}  // namespace tessera
