#include "serving/rollout/version_measures.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "serving/rollout/answer_drift.h"
#include "serving/rollout/latency_buckets.h"
#include "serving/rollout/non_finite.h"
#include "serving/rollout/sliding_window.h"

namespace tessera::serving {
namespace {

// The counters; those of the buckets of latencies follow.
enum Counter : int {
  kErrors,
  kChecked,
  kNonFinite,
  kCompared,
  kMismatched,
  kMirrorErrors,
  kMirrorDropped,
  kFirstBucket,
  kNumCounters = kFirstBucket + kNumLatencyBuckets,
};

double Share(int64_t part, int64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

struct VersionMeasurer::Impl {
  Impl(absl::Duration window, std::string output)
      : window(window), output(std::move(output)), counters(window, kNumCounters), drift(window) {}

  void CountFiniteness(SlidingWindow::Slice slice, absl::Span<const NamedOutput> outputs) {
    const Finiteness finiteness = CheckFiniteness(outputs);
    if (finiteness == Finiteness::kNotChecked) return;
    counters.Add(slice, kChecked);
    if (finiteness == Finiteness::kNonFinite) counters.Add(slice, kNonFinite);
  }

  const absl::Duration window;
  const std::string output;
  WindowCounters counters;
  AnswerDrift drift;
};

VersionMeasurer::VersionMeasurer(absl::Duration window, std::string output)
    : impl_(std::make_unique<Impl>(window, std::move(output))) {}

VersionMeasurer::~VersionMeasurer() = default;

absl::Duration VersionMeasurer::window() const { return impl_->window; }

const std::string& VersionMeasurer::output() const { return impl_->output; }

void VersionMeasurer::Record(absl::Time now, const absl::Status& status, absl::Duration latency,
                             absl::Span<const NamedOutput> outputs) {
  if (absl::IsCancelled(status)) return;
  const SlidingWindow::Slice slice = impl_->counters.window().At(now);
  if (!status.ok()) {
    impl_->counters.Add(slice, kErrors);
    return;
  }
  impl_->counters.Add(slice, kFirstBucket + LatencyBucket(latency));
  impl_->CountFiniteness(slice, outputs);
}

void VersionMeasurer::RecordComparison(absl::Time now, const AnswerExcerpt& live,
                                       const absl::Status& status,
                                       absl::Span<const NamedOutput> candidate) {
  const SlidingWindow::Slice slice = impl_->counters.window().At(now);
  if (!status.ok()) {
    impl_->counters.Add(slice, kMirrorErrors);
    return;
  }
  impl_->counters.Add(slice, kCompared);
  impl_->CountFiniteness(slice, candidate);
  if (!impl_->drift.Compare(now, live, candidate)) impl_->counters.Add(slice, kMismatched);
}

void VersionMeasurer::RecordDropped(absl::Time now) { impl_->counters.Add(now, kMirrorDropped); }

VersionMeasures VersionMeasurer::Measures(absl::Time now) const {
  const std::vector<int64_t> sums = impl_->counters.Sums(now);
  const auto buckets = absl::MakeConstSpan(sums).subspan(kFirstBucket);
  int64_t succeeded = 0;
  for (const int64_t count : buckets) succeeded += count;

  VersionMeasures measures;
  measures.set_requests(succeeded + sums[kErrors]);
  measures.set_errors(sums[kErrors]);
  measures.set_error_rate(Share(sums[kErrors], measures.requests()));
  const double n = static_cast<double>(succeeded);
  const auto micros = [&](double quantile, double standard_errors) {
    const double error = std::sqrt(n * quantile * (1 - quantile));
    return absl::ToDoubleMicroseconds(
        LatencyAtRank(buckets, n * quantile - standard_errors * error));
  };
  measures.set_p50_micros(micros(0.5, 0));
  measures.set_p99_micros(micros(0.99, 0));
  measures.set_p50_low_micros(micros(0.5, 3));
  measures.set_p99_low_micros(micros(0.99, 3));
  measures.set_answers_checked(sums[kChecked]);
  measures.set_non_finite_share(Share(sums[kNonFinite], sums[kChecked]));
  measures.set_compared(sums[kCompared]);
  measures.set_mismatched(sums[kMismatched]);
  measures.set_mirror_errors(sums[kMirrorErrors]);
  measures.set_mirror_dropped(sums[kMirrorDropped]);
  impl_->drift.FillMeasures(now, &measures);
  return measures;
}

void VersionMeasurer::Reset() {
  impl_->counters.Reset();
  impl_->drift.Reset();
}

}  // namespace tessera::serving
