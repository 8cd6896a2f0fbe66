// The curves of training runs, read from their logs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

struct Curve {
  std::string name;
  // Step and value, in the order of the steps. Values are finite; there may be none.
  std::vector<std::pair<double, double>> points;
};

// Returns the curves of a run's log: "loss", "examples_per_second" and "steps_per_second" of its
// steps, and "eval/NAME" for each metric. What was logged after the checkpoint from which a run was
// resumed is replaced by what the resumed run logged, and all of a run that began anew without one.
// Lines that are no records are passed over.
std::vector<Curve> CurvesOfLog(absl::string_view log);

// Reads the log of a run's folder. Errors: NOT_FOUND if the folder has none, or an empty one.
absl::StatusOr<std::vector<Curve>> ReadCurves(const std::string& folder);

}  // namespace tessera::serving
