#include "serving/commands/rollout_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tessera::serving {
namespace {

using Row = std::vector<std::string>;

// Returns the rows with their columns below each other, two spaces apart. Columns in which a row
// has a number are aligned to the right, which `numeric` tells.
std::string Aligned(const std::vector<Row>& rows, const std::vector<bool>& numeric) {
  std::vector<size_t> widths(numeric.size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += numeric[i] ? padding + row[i] : row[i] + padding;
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

std::string Version(int64_t version) { return version == 0 ? "-" : absl::StrCat(version); }

std::string Percent(double percent) { return absl::StrFormat("%.4g %%", percent); }

std::string Milliseconds(double micros) { return absl::StrFormat("%.3g ms", micros / 1000); }

std::string PhaseName(RolloutPhase phase) {
  switch (phase) {
    case ROLLOUT_IDLE:
      return "idle";
    case ROLLOUT_LOADING:
      return "loading";
    case ROLLOUT_STEP:
      return "step";
    case ROLLOUT_HELD:
      return "held";
    case ROLLOUT_PAUSED:
      return "paused";
    default:  // of a later server
      return absl::StrCat(phase);
  }
}

std::string Step(const RolloutStatus& status) {
  if (status.candidate_version() == 0) return "-";
  return absl::StrCat(status.step() + 1, "/", status.config().steps_size());
}

Row Measures(const std::string& name, const VersionMeasures& measures) {
  return {name,
          absl::StrCat(measures.requests()),
          Percent(100 * measures.error_rate()),
          Milliseconds(measures.p50_micros()),
          Milliseconds(measures.p99_micros()),
          Percent(100 * measures.non_finite_share())};
}

}  // namespace

std::string RolloutTable(absl::Span<const RolloutStatus> rollouts) {
  std::vector<Row> rows = {{"MODEL", "PHASE", "STABLE", "CANDIDATE", "SHARE", "STEP", "REJECTED"}};
  for (const RolloutStatus& status : rollouts) {
    rows.push_back({status.model(), PhaseName(status.phase()), Version(status.stable_version()),
                    Version(status.candidate_version()), Percent(status.share_percent()),
                    Step(status), absl::StrJoin(status.rejected_versions(), ", ")});
  }
  return Aligned(rows, {false, false, true, true, true, true, false});
}

std::string RolloutDetails(const RolloutStatus& status) {
  std::string text = RolloutTable({status});
  if (status.candidate_version() != 0) {
    const std::vector<Row> rows = {
        {"VERSION", "REQUESTS", "ERRORS", "P50", "P99", "NOT FINITE"},
        Measures(absl::StrCat(status.stable_version(), " stable"), status.live()),
        Measures(absl::StrCat(status.candidate_version(), " candidate"), status.candidate())};
    absl::StrAppend(&text, "\n", Aligned(rows, {false, true, true, true, true, true}));
  }
  const VersionMeasures& mirrored = status.candidate();
  if (mirrored.compared() > 0) {
    absl::StrAppendFormat(&text,
                          "\n%d mirrored requests: mean difference %.4g, top-1 agreement %.4g %%, "
                          "PSI %.4g; %d failed, %d were dropped\n",
                          mirrored.compared(), mirrored.mean_abs_difference(),
                          100 * mirrored.top1_agreement(), mirrored.psi(), mirrored.mirror_errors(),
                          mirrored.mirror_dropped());
  }
  if (!status.reason().empty()) absl::StrAppend(&text, "\n", status.reason(), "\n");
  return text;
}

std::string RolloutEventLine(const RolloutEvent& event, absl::TimeZone zone) {
  const absl::Time time = absl::UnixEpoch() + absl::Seconds(event.unix_seconds());
  return absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%S", time, zone), "  ", event.model(), " ",
                      event.version(), " ", event.kind(), event.by_hand() ? " by hand" : "",
                      event.reason().empty() ? "" : ": ", event.reason());
}

}  // namespace tessera::serving
