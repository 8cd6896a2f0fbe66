#include "serving/servables/request_stats.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace tessera::serving {
namespace {

// From a microsecond to about 80 seconds, as fine as TensorFlow Serving's bounds of latencies.
const std::vector<double>& LatencyBounds() {
  static const auto* const bounds = new std::vector<double>(ExponentialBounds(1, 1.8, 32));
  return *bounds;
}

// Durations of less than zero, after the clock was set back, count as zero.
double Micros(absl::Duration duration) {
  return std::max(0.0, 1e-3 * static_cast<double>(absl::ToInt64Nanoseconds(duration)));
}

}  // namespace

RequestCell::RequestCell(RequestMethod method, Entrypoint entrypoint)
    : method_(method),
      entrypoint_(entrypoint),
      latency_(LatencyBounds()),
      phases_{Histogram(LatencyBounds()), Histogram(LatencyBounds()), Histogram(LatencyBounds()),
              Histogram(LatencyBounds()), Histogram(LatencyBounds())} {}

void RequestCell::End(const absl::Status& status, const RequestTimes& times, absl::Time now) {
  const int code = static_cast<int>(status.code());
  const int known = code < kNumCodes ? code : static_cast<int>(absl::StatusCode::kUnknown);
  ended_[known].fetch_add(1, std::memory_order_relaxed);
  if (!status.ok()) return;
  last_success_.store(absl::ToUnixNanos(now), std::memory_order_relaxed);
  const auto record = [this](RequestPhase phase, absl::Duration time) {
    phases_[static_cast<int>(phase)].Record(Micros(time));
  };
  latency_.Record(Micros(now - times.arrived));
  record(RequestPhase::kDecode, times.run_began - times.arrived - times.waited);
  record(RequestPhase::kWait, times.waited);
  record(RequestPhase::kBatch, times.batched);
  record(RequestPhase::kRun, times.run_ended - times.run_began - times.batched);
  record(RequestPhase::kEncode, now - times.run_ended);
}

int64_t RequestCell::in_flight() const {
  // Ended ones are counted first: what ends meanwhile must not make the number negative.
  int64_t ended = 0;
  for (const std::atomic<int64_t>& count : ended_) ended += count.load(std::memory_order_acquire);
  return std::max<int64_t>(0, begun_.load(std::memory_order_acquire) - ended);
}

int64_t RequestCell::ended(absl::StatusCode code) const {
  return ended_[static_cast<int>(code)].load(std::memory_order_relaxed);
}

RequestStats::~RequestStats() {
  for (auto& of_method : cells_) {
    for (std::atomic<RequestCell*>& cell : of_method) delete cell.load();
  }
}

RequestCell& RequestStats::Begin(RequestMethod method, Entrypoint entrypoint) {
  std::atomic<RequestCell*>& place = cells_[static_cast<int>(method)][static_cast<int>(entrypoint)];
  RequestCell* cell = place.load(std::memory_order_acquire);
  if (cell == nullptr) [[unlikely]] {
    auto made = std::make_unique<RequestCell>(method, entrypoint);
    if (place.compare_exchange_strong(cell, made.get())) cell = made.release();
  }
  cell->begun_.fetch_add(1, std::memory_order_relaxed);
  return *cell;
}

void RequestStats::ForEach(
    absl::FunctionRef<void(absl::string_view, absl::string_view, const RequestCell&)> visit) const {
  for (size_t method = 0; method < cells_.size(); ++method) {
    for (size_t entrypoint = 0; entrypoint < cells_[method].size(); ++entrypoint) {
      const RequestCell* cell = cells_[method][entrypoint].load(std::memory_order_acquire);
      if (cell != nullptr) visit(kMethodNames[method], kEntrypointNames[entrypoint], *cell);
    }
  }
}

}  // namespace tessera::serving
