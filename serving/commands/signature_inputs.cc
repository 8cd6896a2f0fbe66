#include "serving/commands/signature_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "serving/commands/command.h"
#include "serving/commands/input_value.h"

namespace tessera::serving {
namespace {

// Splits the flags into names and values.
absl::StatusOr<std::map<std::string, std::string>> SplitInputs(const InputFlags& flags) {
  std::map<std::string, std::string> values;
  for (const std::string& input : flags.inputs) {
    const size_t equals = input.find('=');
    if (equals == input.npos) {
      return UsageError(absl::StrCat("input '", input, "' is not NAME=VALUE"));
    }
    const std::string name = input.substr(0, equals);
    if (!values.emplace(name, input.substr(equals + 1)).second) {
      return UsageError(absl::StrCat("input '", name, "' is given twice"));
    }
  }
  return values;
}

std::string Names(const std::map<std::string, TensorInfo>& inputs) {
  return absl::StrJoin(
      inputs, ", ", [](std::string* out, const auto& input) { absl::StrAppend(out, input.first); });
}

absl::Status CheckAllGiven(const SignatureInputs& signature,
                           const std::map<std::string, Tensor>& given) {
  std::vector<std::string> missing;
  for (const auto& [name, info] : signature.inputs) {
    const auto& optional = signature.optional;
    if (given.count(name) > 0 ||
        std::find(optional.begin(), optional.end(), name) != optional.end()) {
      continue;
    }
    missing.push_back(absl::StrCat("input '", name, "' (", DTypeName(info.dtype), " ",
                                   info.shape.ToString(), ") is not given: add --input ", name,
                                   "=VALUE"));
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(missing, "; "));
}

}  // namespace

void InputFlags::AddTo(FlagParser* flags) {
  flags->Add("input", &inputs,
             "an input of the signature. VALUE is JSON ('[[1, 2]]', '\"text\"', "
             "'{\"b64\": \"...\"}' for bytes), @FILE.json, @FILE.npy, or a picture: @FILE.jpg",
             "NAME=VALUE");
  image.AddTo(flags);
}

absl::StatusOr<std::map<std::string, Tensor>> ReadInputs(const InputFlags& flags,
                                                         const SignatureInputs& signature) {
  using Values = std::map<std::string, std::string>;
  ASSIGN_OR_RETURN(const Values values, SplitInputs(flags));
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : values) {
    auto it = signature.inputs.find(name);
    if (it == signature.inputs.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("signature '", signature.signature_name, "' has no input '", name,
                       "' (it takes: ", Names(signature.inputs), ")"));
    }
    absl::StatusOr<Tensor> tensor = ReadInputValue(it->second, value, flags.image);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input '", name, "': "));
    tensors[name] = *std::move(tensor);
  }
  RETURN_IF_ERROR(CheckAllGiven(signature, tensors));
  return tensors;
}

}  // namespace tessera::serving
