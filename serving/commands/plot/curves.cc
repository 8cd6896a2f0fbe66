#include "serving/commands/plot/curves.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/training/job/run_folder.h"
#include "runtime/training/job/run_record.h"

namespace tessera::serving {

std::vector<Curve> CurvesOfLog(absl::string_view log) {
  std::map<std::string, std::map<double, double>> curves;
  bool starts = false;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    const auto record = ParseRunRecord(line);
    if (!record) continue;
    const double step = static_cast<double>(record->step);
    // A run that starts and is not resumed begins anew: an earlier one left no checkpoint.
    if (record->event == "start") starts = true;
    if (record->event == "resume") {
      starts = false;
      for (auto& [name, points] : curves) points.erase(points.upper_bound(step), points.end());
    }
    const bool is_eval = record->event == "eval";
    if (!is_eval && record->event != "step") continue;
    if (std::exchange(starts, false)) curves.clear();
    for (const auto& [name, value] : record->numbers) {
      if (name == "seconds") continue;
      auto& points = curves[is_eval ? absl::StrCat("eval/", name) : name];
      if (std::isfinite(value)) points[step] = value;
    }
  }
  std::vector<Curve> result;
  for (const auto& [name, points] : curves) {
    result.push_back({name, {points.begin(), points.end()}});
  }
  return result;
}

absl::StatusOr<std::vector<Curve>> ReadCurves(const std::string& folder) {
  const auto log = ReadFile(RunLogPath(folder));
  if (absl::IsNotFound(log.status())) {
    return absl::NotFoundError(
        absl::StrCat("'", folder, "' is no folder of a run: it has no log.jsonl"));
  }
  RETURN_IF_ERROR(log.status());
  std::vector<Curve> curves = CurvesOfLog(*log);
  if (curves.empty()) {
    return absl::NotFoundError(absl::StrCat("the run in '", folder, "' has logged no steps yet"));
  }
  return curves;
}

}  // namespace tessera::serving
