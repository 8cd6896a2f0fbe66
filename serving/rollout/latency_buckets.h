// The buckets of a latency histogram, log-linear: each power of two of nanoseconds is divided into
// 64 buckets of equal width. So a bucket is at most 1.6 % of its values wide, and quantiles that
// are read from it may be divided by each other.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace tessera::serving {

// The buckets reach from 1.024 us to 137 s. Shorter and longer latencies count in the first or last
// bucket.
inline constexpr int kNumLatencyBuckets = 27 * 64;

// Returns the index of the bucket that a latency belongs to.
int LatencyBucket(absl::Duration latency);

// Returns the value at `rank` of the samples in ascending order, whose first one has rank 1.
// Samples count as evenly spread within their bucket. A rank below 1 counts as 1. Returns zero if
// there are fewer samples than that. Requires kNumLatencyBuckets counts.
absl::Duration LatencyAtRank(absl::Span<const int64_t> counts, double rank);

}  // namespace tessera::serving
