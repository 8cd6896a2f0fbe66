// AnswerDrift: how far the candidate's answers are from live's, over a sliding window.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "serving/rollout/answer_excerpt.h"
#include "serving/rollout/sliding_window.h"
#include "serving/servables/inference_request.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Compares pairs of answers output by output. Of each output it keeps:
//
// - The mean of |candidate - live| over the elements that are finite in both.
// - Top-1 agreement: the share of rows, along the last axis of an output of rank 2 or more with at
//   least 2 elements a row, whose largest element has the same index in both; of equal ones the
//   first counts. NaN is no largest element, and a row with NaN in one answer alone disagrees.
// - The population stability index of the finite values, sum over bins of
//   (c - l) * ln(c / l), where c and l are the shares of the candidate's and of live's values in a
//   bin. There are ten bins of equal shares of live's first kValuesForBins values, less where these
//   hold one value often; values after those are counted. Half a value is added to each bin, so
//   that none is empty. Below 0.1 distributions count as alike, above 0.25 as shifted. With n
//   values of each, 18 / n is due to chance; therefore it is unset with less than kValuesForBins.
//
// If several outputs of an answer have one name, the first of live's is compared with the first of
// the candidate's, the second with the second, and so on.
//
// An output of live's that the candidate's answer lacks, or has in another dtype or shape, makes
// the answer mismatched: its rows disagree, and its values are not compared. What an answer has
// beyond live's is not looked at. The memory is bounded by AnswerExcerpt::kMaxOutputs; outputs with
// further names are not compared.
//
// Thread-safe, by a mutex: for threads that answer no requests.
class AnswerDrift {
 public:
  static constexpr size_t kValuesForBins = 500;

  explicit AnswerDrift(absl::Duration window) : window_(window) {}

  // Returns false if the candidate's answer does not match live's in names, dtypes and shapes.
  bool Compare(absl::Time now, const AnswerExcerpt& live, absl::Span<const NamedOutput> candidate)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Sets mean_abs_difference, top1_agreement and psi, each that of the output for which it is
  // worst, as far as they are known.
  void FillMeasures(absl::Time now, VersionMeasures* measures) const ABSL_LOCKS_EXCLUDED(mu_);
  void Reset() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr size_t kNumBins = 10;

  // Sums over a slice or a window.
  struct Sums {
    double abs_difference = 0;
    int64_t elements = 0;
    int64_t rows = 0, agreeing_rows = 0;
    std::array<int64_t, kNumBins> live_bins{}, candidate_bins{};

    void Add(const Sums& other);
    double Psi(size_t num_bins) const;
  };
  struct OutputDrift {
    std::string name;
    size_t occurrence = 0;             // see AnswerExcerpt::Output
    std::vector<double> first_values;  // of live; empty once the bins are fixed
    bool has_bins = false;
    std::vector<double> bin_bounds;  // ascending; value x is in the bin of index "bounds <= x"
    struct TaggedSums {
      uint32_t tag = 0;
      Sums sums;
    };
    std::array<TaggedSums, SlidingWindow::kSlots> slices;

    // Collects live's first values, and fixes the bins once there are enough.
    void LearnBins(absl::Span<const double> live);
    void CountBins(absl::Span<const double> values, std::array<int64_t, kNumBins>* bins) const;
  };

  // Returns null if there are too many outputs.
  OutputDrift* DriftOf(const AnswerExcerpt::Output& output) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the sums of the slice that `now` belongs to.
  Sums& SumsAt(absl::Time now, OutputDrift& drift) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  SlidingWindow window_ ABSL_GUARDED_BY(mu_);
  std::vector<OutputDrift> outputs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
