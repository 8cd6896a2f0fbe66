#include "serving/rollout/latency_buckets.h"

#include <algorithm>
#include <bit>

namespace tessera::serving {
namespace {

constexpr int kBucketBits = 6;  // of the 64 buckets of a power of two
constexpr int kFirstPower = 10;
constexpr int kNumPowers = kNumLatencyBuckets >> kBucketBits;
constexpr int64_t kMinNanos = int64_t{1} << kFirstPower;
constexpr int64_t kMaxNanos = (int64_t{1} << (kFirstPower + kNumPowers)) - 1;

// The shortest latency of a bucket, in nanoseconds.
double LowerBound(int bucket) {
  const int power = kFirstPower + (bucket >> kBucketBits);
  const int64_t position = (int64_t{1} << kBucketBits) + (bucket & ((1 << kBucketBits) - 1));
  return static_cast<double>(position << (power - kBucketBits));
}

}  // namespace

int LatencyBucket(absl::Duration latency) {
  const int64_t nanos = std::clamp(absl::ToInt64Nanoseconds(latency), kMinNanos, kMaxNanos);
  const int power = std::bit_width(static_cast<uint64_t>(nanos)) - 1;
  const int position = static_cast<int>(nanos >> (power - kBucketBits)) - (1 << kBucketBits);
  return ((power - kFirstPower) << kBucketBits) + position;
}

absl::Duration LatencyAtRank(absl::Span<const int64_t> counts, double rank) {
  double before = 0;
  for (int bucket = 0; bucket < kNumLatencyBuckets; ++bucket) {
    const double count = static_cast<double>(counts[bucket]);
    if (count == 0 || before + count < rank) {
      before += count;
      continue;
    }
    const double share = std::clamp((rank - before - 0.5) / count, 0.0, 1.0);
    const double lower = LowerBound(bucket);
    return absl::Nanoseconds(lower + share * (LowerBound(bucket + 1) - lower));
  }
  return absl::ZeroDuration();
}

}  // namespace tessera::serving
