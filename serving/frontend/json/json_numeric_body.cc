#include "serving/frontend/json/json_numeric_body.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_number_lists.h"
#include "serving/frontend/json/json_text_scanner.h"

namespace tessera::serving {
namespace {

using Types = absl::Span<const InputType>;

// Reads {"a": NUMBERS, ...} with each input once and nothing else.
bool ReadNamedTensors(JsonTextScanner& in, Types types, PredictBody* body) {
  std::vector<Tensor> tensors(types.size());
  if (!in.Consume('{')) return false;
  do {
    const std::optional<absl::string_view> name = in.String();
    if (!name || !in.Consume(':')) return false;
    const auto type = std::find_if(types.begin(), types.end(),
                                   [&](const InputType& t) { return t.name == *name; });
    if (type == types.end()) return false;
    Tensor& tensor = tensors[type - types.begin()];
    if (tensor.has_value() || !ReadNumberLists(in, type->dtype, JsonDialect::kUpstream, &tensor))
      return false;
  } while (in.Consume(','));
  if (!in.Consume('}')) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!tensors[i].has_value()) return false;
    body->inputs.emplace_back(types[i].name, std::move(tensors[i]));
  }
  return true;
}

// Returns the name in a body that ends with `"signature_name": "..."}`. Clients often send it last,
// but types must be known first. This is a guess, which the name that is read later corrects.
absl::string_view SignatureNameAtEnd(absl::string_view json) {
  constexpr absl::string_view kKey = "\"signature_name\"";
  constexpr size_t kTail = 256;
  const absl::string_view tail = json.substr(json.size() - std::min(json.size(), kTail));
  const size_t key = tail.rfind(kKey);
  if (key == absl::string_view::npos) return {};
  JsonTextScanner in{tail.data() + key + kKey.size(), tail.data() + tail.size()};
  if (!in.Consume(':')) return {};
  return in.String().value_or(absl::string_view());
}

}  // namespace

bool DecodeNumericBody(absl::string_view json, FindInputTypes find_inputs, PredictBody* body) {
  if (json.size() > kMaxJsonBytes) return false;
  JsonTextScanner in{json.data(), json.data() + json.size()};
  body->inputs.clear();
  std::optional<absl::string_view> signature_name;
  std::optional<absl::string_view> assumed_name;  // set once the tensors are read
  if (!in.Consume('{')) return false;
  do {
    const std::optional<absl::string_view> key = in.String();
    if (!key || !in.Consume(':')) return false;
    if (*key == "signature_name") {
      if (signature_name) return false;
      signature_name = in.String();
      if (!signature_name) return false;
    } else if (*key == "instances" || *key == "inputs") {
      if (assumed_name) return false;
      body->layout = *key == "instances" ? PredictLayout::kRow : PredictLayout::kColumnar;
      assumed_name = signature_name ? *signature_name : SignatureNameAtEnd(json);
      const absl::StatusOr<Types> types = find_inputs(*assumed_name);
      if (!types.ok() || in.p == in.end) return false;
      if (*in.p == '{' && body->layout == PredictLayout::kColumnar) {
        if (!ReadNamedTensors(in, *types, body)) return false;
      } else {
        if (types->size() != 1) return false;
        body->inputs.emplace_back((*types)[0].name, Tensor());
        if (!ReadNumberLists(in, (*types)[0].dtype, JsonDialect::kUpstream,
                             &body->inputs[0].second))
          return false;
      }
    } else {
      return false;
    }
  } while (in.Consume(','));
  if (!in.Consume('}') || !assumed_name) return false;
  if (*assumed_name != signature_name.value_or(absl::string_view())) return false;
  body->signature_name = std::string(signature_name.value_or(absl::string_view()));
  return true;
}

}  // namespace tessera::serving
