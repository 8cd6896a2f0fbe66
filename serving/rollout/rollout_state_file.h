// The file that keeps the rollouts of a server over a restart: a RolloutState as JSON.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// The largest state file that is read, in bytes.
inline constexpr size_t kMaxRolloutStateBytes = 16 << 20;

// Returns the state in a file's text. Fields that are not known are ignored, so that a server may
// go back to an older release. Errors: DATA_LOSS if the text is no whole JSON object of that form,
// or is a state that no server writes, such as a candidate below the stable version.
absl::StatusOr<RolloutState> ParseRolloutState(absl::string_view text);

// Returns the text of a state, which ParseRolloutState() reads.
std::string PrintRolloutState(const RolloutState& state);

// Reads the file. Errors: NOT_FOUND if there is none; DATA_LOSS if it is damaged; others if it
// cannot be read.
absl::StatusOr<RolloutState> ReadRolloutState(const std::string& path);

// Replaces the file. After a crash it holds the old state or the new one. Errors: those of
// WriteFileAtomically().
absl::Status WriteRolloutState(const std::string& path, const RolloutState& state);

// Renames a damaged file, so that it can be looked at, and returns its new path.
absl::StatusOr<std::string> SetAsideRolloutState(const std::string& path);

}  // namespace tessera::serving
