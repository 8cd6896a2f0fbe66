// A histogram of latencies, and its picture on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace tessera::serving {

// The latencies from `from` to `to`, without `to` itself except in the last bin.
struct LatencyBin {
  absl::Duration from, to;
  int64_t count = 0;
};

// Returns bins that hold all latencies. The bounds of all but the last one grow by one factor, from
// the smallest latency to the quantile 0.999; the last bin has what is above. There are at most
// `max_bins`, and fewer where latencies are equal. Requires sorted latencies and max_bins >= 2.
std::vector<LatencyBin> LatencyBins(absl::Span<const absl::Duration> sorted, int max_bins);

// Returns a line for each bin: its lower bound, a bar of which the longest takes `width` columns,
// and its count. The text is ASCII, which every terminal shows.
std::string DrawLatencyBins(absl::Span<const LatencyBin> bins, int width);

// Returns a latency with three digits: "98.1 us", "1.23 ms", "12.3 s".
std::string LatencyText(absl::Duration latency);

}  // namespace tessera::serving
