#include "runtime/checkpoint/checkpoint_state.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/proto_text.h"
#include "runtime/base/status.h"
#include "tensorflow/python/training/checkpoint_state.pb.h"

namespace tessera {
namespace {

std::string LastComponent(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

absl::StatusOr<CheckpointState> ParseCheckpointState(const std::string& text) {
  tensorflow::CheckpointState proto;
  RETURN_IF_ERROR(ParseProtoText(text, &proto));
  CheckpointState state;
  state.latest = LastComponent(proto.model_checkpoint_path());
  if (state.latest.empty()) return absl::DataLossError("it names no model_checkpoint_path");
  for (const std::string& path : proto.all_model_checkpoint_paths()) {
    if (std::string name = LastComponent(path); !name.empty()) state.all.push_back(std::move(name));
  }
  const auto& timestamps = proto.all_model_checkpoint_timestamps();
  if (static_cast<size_t>(timestamps.size()) == state.all.size()) {
    state.timestamps.assign(timestamps.begin(), timestamps.end());
  }
  state.last_preserved = proto.last_preserved_timestamp();
  return state;
}

absl::StatusOr<CheckpointState> ReadCheckpointState(const std::string& directory) {
  const std::string path = JoinPath(directory, "checkpoint");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<CheckpointState> state = ParseCheckpointState(text);
  if (state.ok()) return state;
  return Annotate(state.status(),
                  absl::StrCat(path, " does not tell what checkpoints there are: "));
}

absl::Status WriteCheckpointState(const std::string& directory, const CheckpointState& state) {
  tensorflow::CheckpointState proto;
  proto.set_model_checkpoint_path(state.latest);
  proto.mutable_all_model_checkpoint_paths()->Assign(state.all.begin(), state.all.end());
  proto.mutable_all_model_checkpoint_timestamps()->Assign(state.timestamps.begin(),
                                                          state.timestamps.end());
  if (state.last_preserved != 0) proto.set_last_preserved_timestamp(state.last_preserved);
  std::string text;
  google::protobuf::TextFormat::PrintToString(proto, &text);
  return WriteFileAtomically(JoinPath(directory, "checkpoint"), text);
}

std::optional<int64_t> StepOfCheckpoint(absl::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == name.npos) return std::nullopt;
  const absl::string_view digits = name.substr(dash + 1);
  int64_t step = 0;
  const bool is_number = std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
                         absl::SimpleAtoi(digits, &step);
  return is_number ? std::optional<int64_t>(step) : std::nullopt;
}

}  // namespace tessera
