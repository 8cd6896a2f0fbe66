// Metrics that count true and false positives and negatives.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/training/metrics/metric_types.h"
#include "runtime/training/metrics/metric_values.h"

namespace tessera {
namespace {

double RatioOrZero(double a, double b) { return b == 0 ? 0 : a / b; }

// The area under the receiver operating characteristic, by the trapezoids between 200 thresholds.
class Auc final : public Metric {
 public:
  absl::Status Update(const Batch& batch) override {
    ASSIGN_OR_RETURN(const MetricValues outputs, ReadValues(batch.output, "outputs"));
    ASSIGN_OR_RETURN(const MetricValues targets, ReadTargets(batch, outputs));
    const auto count = static_cast<int64_t>(outputs.numbers.size());
    ASSIGN_OR_RETURN(const std::vector<float> weights, ReadWeights(batch.weight, count));
    for (float output : outputs.numbers) {
      if (output >= 0 && output <= 1) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "auc: output ", output, " is no probability in [0, 1]; name the output of a sigmoid"));
    }
    for (int64_t i = 0; i < count; ++i) {
      // Counts in bucket b are above the thresholds 0 to b.
      const auto bucket =
          static_cast<int>(std::max(0.0F, std::ceil(outputs.numbers[i] * (kThresholds - 1)) - 1));
      positives_[bucket] += static_cast<double>(weights[i]) * targets.numbers[i];
      negatives_[bucket] += static_cast<double>(weights[i]) * (1 - targets.numbers[i]);
    }
    return absl::OkStatus();
  }

  double Result() const override {
    double all_positives = 0, all_negatives = 0;
    for (int i = 0; i < kThresholds; ++i) {
      all_positives += positives_[i];
      all_negatives += negatives_[i];
    }
    double area = 0, true_positives = 0, false_positives = 0;
    double last_x = 0, last_y = 0;
    for (int i = kThresholds - 1; i >= 0; --i) {
      true_positives += positives_[i];
      false_positives += negatives_[i];
      const double x = RatioOrZero(false_positives, all_negatives);
      const double y = RatioOrZero(true_positives, all_positives);
      if (i < kThresholds - 1) area += (x - last_x) * (y + last_y) / 2;
      last_x = x;
      last_y = y;
    }
    return area;
  }
  void Reset() override {
    positives_.fill(0);
    negatives_.fill(0);
  }

 private:
  static constexpr int kThresholds = 200;
  std::array<double, kThresholds> positives_ = {}, negatives_ = {};
};

enum class Denominator { kPredicted, kActual };

// The share of true positives, in what was predicted (precision) or in what is (recall).
class TruePositives final : public Metric {
 public:
  TruePositives(Denominator denominator, double threshold, std::optional<int64_t> class_id)
      : denominator_(denominator), threshold_(static_cast<float>(threshold)), class_id_(class_id) {}

  absl::Status Update(const Batch& batch) override {
    ASSIGN_OR_RETURN(MetricValues outputs, ReadValues(batch.output, "outputs"));
    std::vector<float> targets;
    if (class_id_.has_value()) {
      ASSIGN_OR_RETURN(targets, TargetsOfClass(batch, outputs));
      outputs = ColumnOfClass(outputs);
    } else {
      ASSIGN_OR_RETURN(MetricValues labels, ReadTargets(batch, outputs));
      targets = std::move(labels.numbers);
    }
    ASSIGN_OR_RETURN(const std::vector<float> weights,
                     ReadWeights(batch.weight, static_cast<int64_t>(targets.size())));
    for (size_t i = 0; i < targets.size(); ++i) {
      const bool predicted = outputs.numbers[i] > threshold_;
      const bool actual = targets[i] != 0;
      if (predicted && actual) true_positives_ += weights[i];
      if (denominator_ == Denominator::kPredicted ? predicted : actual) all_ += weights[i];
    }
    return absl::OkStatus();
  }
  double Result() const override { return RatioOrZero(true_positives_, all_); }
  void Reset() override { true_positives_ = all_ = 0; }

 private:
  absl::StatusOr<std::vector<float>> TargetsOfClass(const Batch& batch,
                                                    const MetricValues& outputs) const {
    if (*class_id_ >= outputs.columns) {
      return absl::InvalidArgumentError(absl::StrCat("class_id ", *class_id_,
                                                     " is out of range: the outputs have ",
                                                     outputs.columns, " columns"));
    }
    ASSIGN_OR_RETURN(const MetricValues labels, ReadValues(batch.label, "labels"));
    std::vector<float> targets(outputs.rows);
    if (labels.rows == outputs.rows && labels.columns == outputs.columns) {
      for (int64_t i = 0; i < outputs.rows; ++i) targets[i] = labels.row(i)[*class_id_];
      return targets;
    }
    ASSIGN_OR_RETURN(const std::vector<float> classes, ReadClasses(batch, outputs));
    for (int64_t i = 0; i < outputs.rows; ++i) {
      targets[i] = classes[i] == static_cast<float>(*class_id_) ? 1 : 0;
    }
    return targets;
  }

  MetricValues ColumnOfClass(const MetricValues& outputs) const {
    MetricValues column = {.numbers = {}, .rows = outputs.rows, .columns = 1};
    for (int64_t i = 0; i < outputs.rows; ++i) column.numbers.push_back(outputs.row(i)[*class_id_]);
    return column;
  }

  const Denominator denominator_;
  const float threshold_;
  const std::optional<int64_t> class_id_;
  double true_positives_ = 0, all_ = 0;
};

}  // namespace

std::unique_ptr<Metric> MakeAuc() { return std::make_unique<Auc>(); }
std::unique_ptr<Metric> MakePrecision(double threshold, std::optional<int64_t> class_id) {
  return std::make_unique<TruePositives>(Denominator::kPredicted, threshold, class_id);
}
std::unique_ptr<Metric> MakeRecall(double threshold, std::optional<int64_t> class_id) {
  return std::make_unique<TruePositives>(Denominator::kActual, threshold, class_id);
}

}  // namespace tessera
