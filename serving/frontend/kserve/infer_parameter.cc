#include "serving/frontend/kserve/infer_parameter.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kReservedPrefix = "triton_";
constexpr absl::string_view kSharedMemoryPrefix = "shared_memory_";

const InferParameter* Find(const InferParameters& parameters, absl::string_view name) {
  for (const InferParameter& parameter : parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

absl::Status WrongKind(absl::string_view name, absl::string_view kind) {
  return absl::InvalidArgumentError(absl::StrCat("the parameter '", name, "' must be ", kind));
}

absl::StatusOr<bool> BoolOf(const InferParameter& parameter) {
  if (const bool* value = std::get_if<bool>(&parameter.value)) return *value;
  return WrongKind(parameter.name, "true or false");
}

absl::StatusOr<int64_t> CountOf(const InferParameter& parameter) {
  const int64_t* value = std::get_if<int64_t>(&parameter.value);
  if (value != nullptr && *value >= 0) return *value;
  return WrongKind(parameter.name, "a whole number that is not negative");
}

}  // namespace

absl::Status CheckRequestParameters(const InferParameters& parameters) {
  for (const InferParameter& parameter : parameters) {
    const std::string& name = parameter.name;
    const bool is_unsigned = std::holds_alternative<uint64_t>(parameter.value);
    if (absl::StartsWith(name, kReservedPrefix)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the parameter '", name, "' is reserved: names must not begin with ", kReservedPrefix));
    }
    if ((name == "priority" || name == "timeout") && !is_unsigned) {
      RETURN_IF_ERROR(CountOf(parameter).status());
    } else if (name == "sequence_start" || name == "sequence_end") {
      RETURN_IF_ERROR(BoolOf(parameter).status());
    } else if (name == "sequence_id" && !is_unsigned &&
               !std::holds_alternative<int64_t>(parameter.value) &&
               !std::holds_alternative<std::string>(parameter.value)) {
      return WrongKind(name, "a whole number or a string");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTensorParameters(absl::string_view kind, absl::string_view name,
                                   const InferParameters& parameters) {
  for (const InferParameter& parameter : parameters) {
    if (absl::StartsWith(parameter.name, kSharedMemoryPrefix)) {
      return absl::InvalidArgumentError(absl::StrCat(
          kind, " '", name, "' has the parameter '", parameter.name,
          "', but this server has no shared memory: send and take elements in the messages"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<bool>> BoolParameter(const InferParameters& parameters,
                                                  absl::string_view name) {
  const InferParameter* parameter = Find(parameters, name);
  if (parameter == nullptr) return std::nullopt;
  return BoolOf(*parameter);
}

absl::StatusOr<std::optional<int64_t>> CountParameter(const InferParameters& parameters,
                                                      absl::string_view name) {
  const InferParameter* parameter = Find(parameters, name);
  if (parameter == nullptr) return std::nullopt;
  return CountOf(*parameter);
}

}  // namespace tessera::serving
