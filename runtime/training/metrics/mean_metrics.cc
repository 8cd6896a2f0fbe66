// Metrics that are weighted means of a number for each row.
#include <cmath>

#include "runtime/base/status.h"
#include "runtime/training/metrics/metric_types.h"
#include "runtime/training/metrics/metric_values.h"

namespace tessera {
namespace {

class MeanMetric : public Metric {
 public:
  absl::Status Update(const Batch& batch) final {
    ASSIGN_OR_RETURN(const MetricValues outputs, ReadValues(batch.output, "outputs"));
    ASSIGN_OR_RETURN(const std::vector<float> values, ValuesOf(batch, outputs));
    ASSIGN_OR_RETURN(const std::vector<float> weights,
                     ReadWeights(batch.weight, static_cast<int64_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i) {
      sum_ += static_cast<double>(values[i]) * weights[i];
      count_ += weights[i];
    }
    return absl::OkStatus();
  }
  double Result() const final { return count_ == 0 ? 0 : sum_ / count_; }
  void Reset() final { sum_ = count_ = 0; }

 protected:
  // Returns a number for each row of the outputs.
  virtual absl::StatusOr<std::vector<float>> ValuesOf(const Batch& batch,
                                                      const MetricValues& outputs) const = 0;

 private:
  double sum_ = 0, count_ = 0;
};

// The mean over the columns of a function of output and label.
template <typename Function>
std::vector<float> RowMeans(const MetricValues& outputs, const MetricValues& targets,
                            const Function& function) {
  std::vector<float> means;
  means.reserve(outputs.rows);
  for (int64_t i = 0; i < outputs.rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < outputs.columns; ++j) {
      sum += function(outputs.row(i)[j], targets.row(i)[j]);
    }
    means.push_back(static_cast<float>(sum / static_cast<double>(outputs.columns)));
  }
  return means;
}

class Accuracy final : public MeanMetric {
 public:
  explicit Accuracy(std::optional<double> threshold) : threshold_(threshold) {}

 protected:
  absl::StatusOr<std::vector<float>> ValuesOf(const Batch& batch,
                                              const MetricValues& outputs) const override {
    if (threshold_.has_value() || outputs.columns == 1) {
      const auto threshold = static_cast<float>(threshold_.value_or(0.5));
      ASSIGN_OR_RETURN(const MetricValues targets, ReadTargets(batch, outputs));
      return RowMeans(outputs, targets, [threshold](float output, float target) {
        return (output > threshold ? 1.0F : 0.0F) == target ? 1.0 : 0.0;
      });
    }
    ASSIGN_OR_RETURN(const std::vector<float> classes, ReadClasses(batch, outputs));
    std::vector<float> values;
    values.reserve(outputs.rows);
    for (int64_t i = 0; i < outputs.rows; ++i) {
      const auto predicted = static_cast<float>(ArgMax(outputs.row(i), outputs.columns));
      values.push_back(predicted == classes[i] ? 1.0F : 0.0F);
    }
    return values;
  }

 private:
  const std::optional<double> threshold_;
};

class TopKAccuracy final : public MeanMetric {
 public:
  explicit TopKAccuracy(int64_t k) : k_(k) {}

 protected:
  absl::StatusOr<std::vector<float>> ValuesOf(const Batch& batch,
                                              const MetricValues& outputs) const override {
    ASSIGN_OR_RETURN(const std::vector<float> classes, ReadClasses(batch, outputs));
    std::vector<float> values;
    values.reserve(outputs.rows);
    for (int64_t i = 0; i < outputs.rows; ++i) values.push_back(IsInTopK(outputs, i, classes[i]));
    return values;
  }

 private:
  // As TensorFlow's InTopK: a class whose output equals that of the k-th is in as well; nothing is
  // as soon as an output is not finite where that decides. Keras drops what a number has behind its
  // point, so that 1.5 is class 1. NaN is no class.
  float IsInTopK(const MetricValues& outputs, int64_t row, float number) const {
    if (!(number > -1 && number < static_cast<float>(outputs.columns))) return 0;
    const auto label = static_cast<int64_t>(number);
    const float* const scores = outputs.row(row);
    if (!std::isfinite(scores[label])) return 0;
    int64_t above = 0;
    for (int64_t j = 0; j < outputs.columns; ++j) {
      if (!std::isfinite(scores[j])) return 0;
      above += scores[j] > scores[label] ? 1 : 0;
    }
    return above < k_ ? 1 : 0;
  }

  const int64_t k_;
};

template <double (*kError)(double)>
class MeanError final : public MeanMetric {
 public:
  bool higher_is_better() const override { return false; }

 protected:
  absl::StatusOr<std::vector<float>> ValuesOf(const Batch& batch,
                                              const MetricValues& outputs) const override {
    ASSIGN_OR_RETURN(const MetricValues targets, ReadTargets(batch, outputs));
    return RowMeans(outputs, targets,
                    [](float output, float target) { return kError(output - target); });
  }
};

double Square(double x) { return x * x; }
double Absolute(double x) { return std::abs(x); }

class MeanLoss final : public MeanMetric {
 public:
  bool higher_is_better() const override { return false; }
  bool needs_label() const override { return false; }

 protected:
  absl::StatusOr<std::vector<float>> ValuesOf(const Batch& batch,
                                              const MetricValues& outputs) const override {
    if (batch.output->rank() <= 1) return outputs.numbers;
    return absl::InvalidArgumentError("a loss must be a scalar or a vector");
  }
};

}  // namespace

std::unique_ptr<Metric> MakeAccuracy(std::optional<double> threshold) {
  return std::make_unique<Accuracy>(threshold);
}
std::unique_ptr<Metric> MakeTopKAccuracy(int64_t k) { return std::make_unique<TopKAccuracy>(k); }
std::unique_ptr<Metric> MakeMeanSquaredError() { return std::make_unique<MeanError<Square>>(); }
std::unique_ptr<Metric> MakeMeanAbsoluteError() { return std::make_unique<MeanError<Absolute>>(); }
std::unique_ptr<Metric> MakeMeanLoss() { return std::make_unique<MeanLoss>(); }

}  // namespace tessera
