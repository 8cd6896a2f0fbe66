// Any text as the block `rollout` of a model and as the file that keeps rollouts: both are refused,
// or a rollout that starts from them can be driven by any sequence of events.
// The input is a block as JSON, a state file, and the events, with a zero byte between them.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/logging.h"
#include "serving/rollout/rollout.h"
#include "serving/rollout/rollout_config.h"
#include "serving/rollout/rollout_state_file.h"

namespace tessera::serving {
namespace {

// Cuts the text up to the next zero byte off `input`.
absl::string_view TakeText(absl::string_view* input) {
  const size_t end = std::min(input->find('\0'), input->size());
  const absl::string_view text = input->substr(0, end);
  input->remove_prefix(std::min(end + 1, input->size()));
  return text;
}

void CheckInvariants(const Rollout& rollout, absl::Time now) {
  const Rollout::Route route = rollout.route();
  CHECK(route.share_percent >= 0 && route.share_percent <= 100);
  CHECK(route.candidate == 0 || (route.stable != 0 && route.candidate > route.stable));
  CHECK(rollout.Wanted().size() <= 3);
  const RolloutStatus status = rollout.Status(now);
  CHECK(status.step() >= 0 && status.step() < rollout.config().steps_size());
  CHECK((status.phase() == ROLLOUT_IDLE) == (status.candidate_version() == 0));
  // A later process takes what this one saves.
  RolloutState state;
  (*state.mutable_models())["m"] = rollout.saved();
  const absl::Status saved = ParseRolloutState(PrintRolloutState(state)).status();
  CHECK(saved.ok()) << saved;
}

// Drives a rollout by one event for each two bytes.
void Drive(Rollout rollout, absl::string_view events) {
  absl::Time now = absl::FromUnixSeconds(1);
  std::map<int64_t, uint64_t> on_disk;
  for (; events.size() >= 2; events.remove_prefix(2)) {
    const int64_t version = 1 + (events[0] >> 4 & 7);
    const uint8_t value = static_cast<uint8_t>(events[1]);
    now += absl::Seconds(value % 16);
    constexpr State kStates[] = {State::kStart, State::kLoading, State::kAvailable,
                                 State::kUnloading, State::kEnd};
    switch (events[0] & 15) {
      case 0:
        on_disk[version] = value;
        rollout.SetVersions(now, on_disk);
        break;
      case 1:
        on_disk.erase(version);
        rollout.SetVersions(now, on_disk);
        break;
      case 2:
      case 3:
      case 4:
        rollout.NoteState(now, {{"m", version}, kStates[value % 5], absl::OkStatus(), now});
        break;
      case 5:
        rollout.NoteState(now, {{"m", version}, State::kEnd, absl::InternalError("bad"), now});
        break;
      case 6:
        rollout.NoteState(now,
                          {{"m", version}, State::kEnd, absl::ResourceExhaustedError("big"), now});
        break;
      case 7:
        rollout.Promote(now, value % 8).IgnoreError();
        break;
      case 8:
        rollout.Rollback(now, value % 8).IgnoreError();
        break;
      case 9:
        rollout.Pause(now, 0).IgnoreError();
        break;
      case 10:
        rollout.Resume(now, 0).IgnoreError();
        break;
      case 11:
        rollout.LoadAgain(now);
        break;
      default:
        rollout.Advance(now, {.live = {},
                              .candidate = {},
                              .verdict = {static_cast<Judgement>(value % 3), "because"}});
    }
    rollout.TakeEvents();
    CheckInvariants(rollout, now);
  }
}

void Fuzz(absl::string_view input) {
  const std::string block(TakeText(&input));
  const absl::StatusOr<RolloutState> state = ParseRolloutState(TakeText(&input));
  RolloutConfig config;
  if (!google::protobuf::util::JsonStringToMessage(block, &config).ok()) return;
  if (!CheckRolloutConfig(config).empty() || config.steps_size() > 1000) return;
  RolloutState::Model saved;
  if (state.ok() && !state->models().empty()) saved = state->models().begin()->second;
  Drive(Rollout("m", WithDefaults(config), saved), input);
}

}  // namespace
}  // namespace tessera::serving

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::serving::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
