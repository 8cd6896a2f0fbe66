#include "runtime/training/metrics/metric_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
absl::StatusOr<MetricValues> ReadValues(const Tensor* tensor, absl::string_view what) {
  if (tensor == nullptr || !tensor->has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("the metric needs ", what));
  }
  MetricValues values;
  const auto convert = [&]<typename T>() {
    const auto numbers = tensor->flat<T>();
    values.numbers.reserve(numbers.size());
    for (const T& number : numbers) values.numbers.push_back(static_cast<float>(number));
    return absl::OkStatus();
  };
  if (tensor->dtype() == DType::kBool) {
    RETURN_IF_ERROR(convert.template operator()<bool>());
  } else if (!VisitRealType(tensor->dtype(), convert).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " of dtype ", DTypeName(tensor->dtype()), " are no numbers"));
  }
  if (tensor->rank() > 1) values.columns = tensor->dim(tensor->rank() - 1);
  values.rows = values.columns == 0 ? 0 : tensor->num_elements() / values.columns;
  return values;
}

absl::StatusOr<std::vector<float>> ReadClasses(const Metric::Batch& batch,
                                               const MetricValues& outputs) {
  ASSIGN_OR_RETURN(MetricValues labels, ReadValues(batch.label, "labels"));
  if (static_cast<int64_t>(labels.numbers.size()) == outputs.rows) {
    return std::move(labels.numbers);
  }
  if (labels.rows != outputs.rows || labels.columns != outputs.columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("labels of shape ", batch.label->shape().ToString(),
                     " are no classes for outputs of shape ", batch.output->shape().ToString()));
  }
  std::vector<float> classes;
  classes.reserve(labels.rows);
  for (int64_t i = 0; i < labels.rows; ++i) {
    classes.push_back(static_cast<float>(ArgMax(labels.row(i), labels.columns)));
  }
  return classes;
}

absl::StatusOr<MetricValues> ReadTargets(const Metric::Batch& batch, const MetricValues& outputs) {
  ASSIGN_OR_RETURN(MetricValues labels, ReadValues(batch.label, "labels"));
  if (labels.numbers.size() != outputs.numbers.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("labels of shape ", batch.label->shape().ToString(),
                     " do not fit outputs of shape ", batch.output->shape().ToString()));
  }
  labels.rows = outputs.rows;
  labels.columns = outputs.columns;
  return labels;
}

absl::StatusOr<std::vector<float>> ReadWeights(const Tensor* weight, int64_t count) {
  if (weight == nullptr || count == 0) return std::vector<float>(count, 1.0F);
  ASSIGN_OR_RETURN(const MetricValues values, ReadValues(weight, "weights"));
  const auto size = static_cast<int64_t>(values.numbers.size());
  if (size == 0 || count % size != 0) {
    return absl::InvalidArgumentError(absl::StrCat("weights of shape ", weight->shape().ToString(),
                                                   " do not fit ", count, " values"));
  }
  std::vector<float> weights;
  weights.reserve(count);
  for (float number : values.numbers) weights.insert(weights.end(), count / size, number);
  return weights;
}

int64_t ArgMax(const float* numbers, int64_t count) {
  return std::max_element(numbers, numbers + count) - numbers;
}

}  // namespace tessera
