#include "serving/batching/cost_curve.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tessera::serving {
namespace {

// The share of a run in what is known of its size.
constexpr double kWeight = 0.2;
// A throughput of this share of the best is as good.
constexpr double kNearly = 0.95;
// Runs are merged that take this share of the time of two, or less.
constexpr double kMuchSooner = 0.8;

// Sizes are told apart by their three highest bits, which bounds how many there are.
int64_t SizeClass(int64_t rows) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(rows))) - 3);
  return rows >> shift << shift;
}

}  // namespace

void CostCurve::Record(int64_t rows, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  absl::MutexLock lock(&mu_);
  const auto [known, is_new] = seconds_.try_emplace(SizeClass(rows), seconds);
  if (!is_new) known->second += kWeight * (seconds - known->second);
}

double CostCurve::SecondsOf(int64_t rows) const {
  auto above = seconds_.lower_bound(rows);
  if (above == seconds_.begin()) return above->second;
  if (above == seconds_.end()) --above;
  const auto below = std::prev(above);
  const double slope =
      (above->second - below->second) / static_cast<double>(above->first - below->first);
  return std::max(0., below->second + slope * static_cast<double>(rows - below->first));
}

int64_t CostCurve::BestRows(int64_t limit) const {
  absl::MutexLock lock(&mu_);
  if (seconds_.size() < 2) return limit;
  const auto end = seconds_.upper_bound(limit);
  double best = 0;
  for (auto it = seconds_.begin(); it != end; ++it) {
    best = std::max(best, static_cast<double>(it->first) / it->second);
  }
  for (auto it = seconds_.begin(); it != end; ++it) {
    if (static_cast<double>(it->first) / it->second < kNearly * best) continue;
    // If it still rises at the largest size that was seen, larger ones may be better.
    return std::next(it) == seconds_.end() ? limit : it->first;
  }
  return limit;
}

bool CostCurve::IsWorthMerging(int64_t rows, int64_t more) const {
  absl::MutexLock lock(&mu_);
  if (seconds_.size() < 2) return false;
  return SecondsOf(rows + more) <= kMuchSooner * (SecondsOf(rows) + SecondsOf(more));
}

}  // namespace tessera::serving
