#include "serving/commands/bench/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace tessera::serving {

std::vector<LatencyBin> LatencyBins(absl::Span<const absl::Duration> sorted, int max_bins) {
  if (sorted.empty()) return {};
  const absl::Duration lowest = sorted.front();
  const absl::Duration highest = sorted.back();
  const absl::Duration tail = sorted[(sorted.size() - 1) * 999 / 1000];
  std::vector<LatencyBin> bins;
  const auto add = [&](absl::Duration from, absl::Duration to) {
    if (from < to) bins.push_back({from, to});
  };
  // No latency is 0, but a coarse clock may say so, and the logarithm needs more.
  const double first = std::max(1.0, absl::ToDoubleNanoseconds(lowest));
  const double factor =
      std::pow(std::max(1.0, absl::ToDoubleNanoseconds(tail) / first), 1.0 / (max_bins - 1));
  absl::Duration from = lowest;
  for (int i = 1; i < max_bins; ++i) {
    const absl::Duration to =
        i == max_bins - 1 ? tail
                          : std::clamp(absl::Nanoseconds(first * std::pow(factor, i)), from, tail);
    add(from, to);
    from = to;
  }
  add(tail, highest);
  if (bins.empty()) bins.push_back({lowest, highest});
  size_t bin = 0;
  for (const absl::Duration latency : sorted) {
    while (bin + 1 < bins.size() && latency >= bins[bin].to) ++bin;
    ++bins[bin].count;
  }
  return bins;
}

std::string DrawLatencyBins(absl::Span<const LatencyBin> bins, int width) {
  int64_t most = 1;
  for (const LatencyBin& bin : bins) most = std::max(most, bin.count);
  std::string text;
  for (const LatencyBin& bin : bins) {
    // A bin that is not empty shows at least one column.
    const int64_t length = (bin.count * width + most - 1) / most;
    absl::StrAppendFormat(&text, "%9s |%-*s %d\n", LatencyText(bin.from), width,
                          std::string(length, '#'), bin.count);
  }
  return text;
}

std::string LatencyText(absl::Duration latency) {
  struct Unit {
    const char* name;
    absl::Duration size;
  };
  constexpr Unit kUnits[] = {
      {"us", absl::Microseconds(1)}, {"ms", absl::Milliseconds(1)}, {"s", absl::Seconds(1)}};
  for (const Unit& unit : kUnits) {
    const double value = absl::FDivDuration(latency, unit.size);
    if (unit.size < absl::Seconds(1) && value >= 999.5) continue;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return absl::StrFormat("%.*f %s", decimals, value, unit.name);
  }
  return "";
}

}  // namespace tessera::serving
