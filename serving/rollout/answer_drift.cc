#include "serving/rollout/answer_drift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera::serving {
namespace {

// Returns the first `n` elements of a tensor of real numbers.
std::vector<double> FirstValues(const Tensor& tensor, int64_t n) {
  std::vector<double> values(static_cast<size_t>(n));
  if (n == 0) return values;
  const absl::Status visited = VisitRealType(tensor.dtype(), [&]<typename T>() {
    const T* elements = tensor.data<T>();
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<double>(elements[i]);
    return absl::OkStatus();
  });
  static_cast<void>(visited);  // excerpts have real numbers alone
  return values;
}

const Tensor* FindMatch(const AnswerExcerpt::Output& live,
                        absl::Span<const NamedOutput> candidate) {
  size_t occurrence = 0;
  for (const NamedOutput& output : candidate) {
    if (output.name != live.name || occurrence++ != live.occurrence) continue;
    const Tensor& tensor = output.tensor;
    const bool matches = tensor.dtype() == live.dtype && tensor.shape() == live.shape &&
                         IsHostAccessible(tensor.memory_kind());
    return matches ? &tensor : nullptr;
  }
  return nullptr;
}

struct Top1 {
  ptrdiff_t index = -1;  // of the largest element; -1 if all are NaN
  bool has_nan = false;

  friend bool operator==(const Top1&, const Top1&) = default;
};

Top1 FindTop1(absl::Span<const double> row) {
  Top1 top;
  for (size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) {
      top.has_nan = true;
    } else if (top.index < 0 || row[i] > row[top.index]) {
      top.index = static_cast<ptrdiff_t>(i);
    }
  }
  return top;
}

// Returns the length of the rows that an excerpt of `n` elements has; 0 if they have no top-1.
size_t RowLength(const Shape& shape, size_t n) {
  if (shape.rank() < 2 || n == 0) return 0;
  const size_t length = std::min(n, static_cast<size_t>(shape.dim(shape.rank() - 1)));
  return length < 2 ? 0 : length;
}

// Replaces `worst` by `value` if `value` is worse.
template <typename IsWorse>
void KeepWorst(double value, IsWorse is_worse, std::optional<double>& worst) {
  if (!worst.has_value() || is_worse(value, *worst)) worst = value;
}

}  // namespace

void AnswerDrift::Sums::Add(const Sums& other) {
  abs_difference += other.abs_difference;
  elements += other.elements;
  rows += other.rows;
  agreeing_rows += other.agreeing_rows;
  for (size_t i = 0; i < kNumBins; ++i) {
    live_bins[i] += other.live_bins[i];
    candidate_bins[i] += other.candidate_bins[i];
  }
}

double AnswerDrift::Sums::Psi(size_t num_bins) const {
  constexpr double kAdded = 0.5;
  double live_total = kAdded * static_cast<double>(num_bins);
  double candidate_total = live_total;
  for (size_t i = 0; i < num_bins; ++i) {
    live_total += static_cast<double>(live_bins[i]);
    candidate_total += static_cast<double>(candidate_bins[i]);
  }
  double psi = 0;
  for (size_t i = 0; i < num_bins; ++i) {
    const double live = (static_cast<double>(live_bins[i]) + kAdded) / live_total;
    const double candidate = (static_cast<double>(candidate_bins[i]) + kAdded) / candidate_total;
    psi += (candidate - live) * std::log(candidate / live);
  }
  return psi;
}

void AnswerDrift::OutputDrift::LearnBins(absl::Span<const double> live) {
  for (const double value : live) {
    if (first_values.size() == kValuesForBins) break;
    if (std::isfinite(value)) first_values.push_back(value);
  }
  if (first_values.size() < kValuesForBins) return;
  std::sort(first_values.begin(), first_values.end());
  for (size_t i = 1; i < kNumBins; ++i) {
    const double bound = first_values[i * kValuesForBins / kNumBins];
    if (bin_bounds.empty() || bound > bin_bounds.back()) bin_bounds.push_back(bound);
  }
  has_bins = true;
  first_values = {};
}

void AnswerDrift::OutputDrift::CountBins(absl::Span<const double> values,
                                         std::array<int64_t, kNumBins>* bins) const {
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const auto bound = std::upper_bound(bin_bounds.begin(), bin_bounds.end(), value);
    ++(*bins)[static_cast<size_t>(bound - bin_bounds.begin())];
  }
}

AnswerDrift::OutputDrift* AnswerDrift::DriftOf(const AnswerExcerpt::Output& output) {
  for (OutputDrift& drift : outputs_) {
    if (drift.name == output.name && drift.occurrence == output.occurrence) return &drift;
  }
  if (outputs_.size() == AnswerExcerpt::kMaxOutputs) return nullptr;
  OutputDrift& drift = outputs_.emplace_back();
  drift.name = output.name;
  drift.occurrence = output.occurrence;
  return &drift;
}

AnswerDrift::Sums& AnswerDrift::SumsAt(absl::Time now, OutputDrift& drift) {
  const SlidingWindow::Slice slice = window_.At(now);
  OutputDrift::TaggedSums& tagged = drift.slices[slice.slot];
  if (tagged.tag != slice.tag) tagged = {.tag = slice.tag, .sums = {}};
  return tagged.sums;
}

bool AnswerDrift::Compare(absl::Time now, const AnswerExcerpt& live,
                          absl::Span<const NamedOutput> candidate) {
  absl::MutexLock lock(&mu_);
  bool matches = true;
  for (const AnswerExcerpt::Output& output : live.outputs) {
    const int64_t n = output.first.num_elements();
    const size_t row = RowLength(output.shape, static_cast<size_t>(n));
    const size_t rows = row == 0 ? 0 : static_cast<size_t>(n) / row;
    const Tensor* const match = FindMatch(output, candidate);
    if (match == nullptr) matches = false;
    OutputDrift* const drift = DriftOf(output);
    if (drift == nullptr) continue;
    Sums& sums = SumsAt(now, *drift);
    sums.rows += static_cast<int64_t>(rows);
    if (match == nullptr) continue;

    const std::vector<double> expected = FirstValues(output.first, n);
    const std::vector<double> actual = FirstValues(*match, n);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!std::isfinite(expected[i]) || !std::isfinite(actual[i])) continue;
      sums.abs_difference += std::abs(actual[i] - expected[i]);
      ++sums.elements;
    }
    for (size_t i = 0; i < rows; ++i) {
      const auto row_of = [&](const std::vector<double>& values) {
        return FindTop1(absl::MakeConstSpan(values).subspan(i * row, row));
      };
      if (row_of(expected) == row_of(actual)) ++sums.agreeing_rows;
    }
    if (drift->has_bins) {
      drift->CountBins(expected, &sums.live_bins);
      drift->CountBins(actual, &sums.candidate_bins);
    } else {
      drift->LearnBins(expected);
    }
  }
  return matches;
}

void AnswerDrift::FillMeasures(absl::Time now, VersionMeasures* measures) const {
  std::optional<double> difference, agreement, psi;
  absl::MutexLock lock(&mu_);
  for (const OutputDrift& drift : outputs_) {
    Sums sums;
    for (const SlidingWindow::Slice& slice : window_.EndingAt(now)) {
      const OutputDrift::TaggedSums& tagged = drift.slices[slice.slot];
      if (tagged.tag == slice.tag) sums.Add(tagged.sums);
    }
    if (sums.elements > 0) {
      KeepWorst(sums.abs_difference / static_cast<double>(sums.elements), std::greater<>(),
                difference);
    }
    if (sums.rows > 0) {
      KeepWorst(static_cast<double>(sums.agreeing_rows) / static_cast<double>(sums.rows),
                std::less<>(), agreement);
    }
    const auto total = [](const std::array<int64_t, kNumBins>& bins) {
      return static_cast<size_t>(std::accumulate(bins.begin(), bins.end(), int64_t{0}));
    };
    if (std::min(total(sums.live_bins), total(sums.candidate_bins)) >= kValuesForBins) {
      KeepWorst(sums.Psi(drift.bin_bounds.size() + 1), std::greater<>(), psi);
    }
  }
  if (difference.has_value()) measures->set_mean_abs_difference(*difference);
  if (agreement.has_value()) measures->set_top1_agreement(*agreement);
  if (psi.has_value()) measures->set_psi(*psi);
}

void AnswerDrift::Reset() {
  absl::MutexLock lock(&mu_);
  outputs_.clear();
}

}  // namespace tessera::serving
