#include "serving/rollout/rollout_state_file.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

constexpr char kDamagedSuffix[] = ".damaged";

absl::Status CheckModel(const std::string& name, const RolloutState::Model& model) {
  auto error = [&](absl::string_view what) {
    return absl::DataLossError(absl::StrCat("model '", name, "': ", what));
  };
  const int64_t stable = model.stable_version(), candidate = model.candidate_version();
  if (stable < 0 || candidate < 0 || model.previous_version() < 0) {
    return error("a version is negative");
  }
  if (candidate != 0 && candidate <= stable) {
    return error(
        absl::StrCat("candidate ", candidate, " is not above the stable version ", stable));
  }
  if (model.previous_version() != 0 && model.previous_version() == stable) {
    return error(absl::StrCat("version ", stable, " is stable and previous at once"));
  }
  if (model.step() < 0) return error("the step is negative");
  std::set<int64_t> rejected;
  for (const auto& entry : model.rejected()) {
    if (!rejected.insert(entry.version()).second) {
      return error(absl::StrCat("version ", entry.version(), " is rejected twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RolloutState> ParseRolloutState(absl::string_view text) {
  if (text.size() > kMaxRolloutStateBytes) {
    return absl::DataLossError(
        absl::StrCat("the file has ", text.size(), " bytes, more than ", kMaxRolloutStateBytes));
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  RolloutState state;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &state, options);
  if (!parsed.ok()) {
    return absl::DataLossError(
        absl::StrCat("the file is no state of rollouts: ",
                     absl::string_view(parsed.message().data(), parsed.message().size())));
  }
  for (const auto& [name, model] : state.models()) RETURN_IF_ERROR(CheckModel(name, model));
  return state;
}

std::string PrintRolloutState(const RolloutState& state) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  // Fails for messages of type Any alone.
  (void)google::protobuf::util::MessageToJsonString(state, &text, options);
  return text;
}

absl::StatusOr<RolloutState> ReadRolloutState(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseRolloutState(text);
}

absl::Status WriteRolloutState(const std::string& path, const RolloutState& state) {
  return WriteFileAtomically(path, PrintRolloutState(state));
}

absl::StatusOr<std::string> SetAsideRolloutState(const std::string& path) {
  const std::string aside = path + kDamagedSuffix;
  RETURN_IF_ERROR(RenameFile(path, aside));
  return aside;
}

}  // namespace tessera::serving
