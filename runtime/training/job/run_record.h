// RunRecord: one line of what a training run tells, in its log and to its user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

// The events, with their counts, numbers and texts:
//
// * start: steps (0: not known), path (of the run's folder);
// * resume: path (of the checkpoint), and data_begin_anew, the reason, where they do;
// * step: loss, steps_per_second, examples_per_second (0 for a graph that reads its own data),
//   seconds since the start of the process;
// * skip: loss_scale, with which gradients were no finite numbers, so that nothing changed;
// * eval: a number for each metric;
// * checkpoint: path, and data_begin_anew, as of resume, in the first from which they do;
// * profile: path;
// * export: path, or reason: why nothing was exported;
// * stop: reason, why the run ends before its last step;
// * end: seconds.
struct RunRecord {
  std::string event;
  int64_t step = 0;
  std::vector<std::pair<std::string, int64_t>> counts;
  std::vector<std::pair<std::string, double>> numbers;
  std::vector<std::pair<std::string, std::string>> texts;

  // Returns the number of this name.
  std::optional<double> Number(absl::string_view name) const;
  // Returns the text of this name; empty if there is none.
  std::string Text(absl::string_view name) const;
};

// Returns {"event": ..., "step": ..., NAME: VALUE...} and a newline. Numbers that JSON does not
// have are "NaN", "Infinity" and "-Infinity". Counts have no decimal point, numbers do.
std::string ToJson(const RunRecord& record);

// Reads what ToJson() wrote, without its newline. Returns nullopt for anything else, such as a line
// that was cut off.
std::optional<RunRecord> ParseRunRecord(absl::string_view line);

}  // namespace tessera
