#include "runtime/training/metrics/metric_values.h"

#include <algorithm>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

template <typename T>
void Convert(const Tensor& tensor, std::vector<float>* numbers) {
  const auto values = tensor.flat<T>();
  numbers->reserve(values.size());
  for (const T& value : values) numbers->push_back(static_cast<float>(value));
}

}  // namespace

absl::StatusOr<MetricValues> ReadValues(const Tensor* tensor, absl::string_view what) {
  if (tensor == nullptr || !tensor->has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("the metric needs ", what));
  }
  MetricValues values;
  switch (tensor->dtype()) {
    case DType::kFloat:
      Convert<float>(*tensor, &values.numbers);
      break;
    case DType::kDouble:
      Convert<double>(*tensor, &values.numbers);
      break;
    case DType::kBfloat16:
      Convert<Eigen::bfloat16>(*tensor, &values.numbers);
      break;
    case DType::kHalf:
      Convert<Eigen::half>(*tensor, &values.numbers);
      break;
    case DType::kInt64:
      Convert<int64_t>(*tensor, &values.numbers);
      break;
    case DType::kInt32:
      Convert<int32_t>(*tensor, &values.numbers);
      break;
    case DType::kInt16:
      Convert<int16_t>(*tensor, &values.numbers);
      break;
    case DType::kInt8:
      Convert<int8_t>(*tensor, &values.numbers);
      break;
    case DType::kUint64:
      Convert<uint64_t>(*tensor, &values.numbers);
      break;
    case DType::kUint32:
      Convert<uint32_t>(*tensor, &values.numbers);
      break;
    case DType::kUint16:
      Convert<uint16_t>(*tensor, &values.numbers);
      break;
    case DType::kUint8:
      Convert<uint8_t>(*tensor, &values.numbers);
      break;
    case DType::kBool:
      Convert<bool>(*tensor, &values.numbers);
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(what, " of dtype ", DTypeName(tensor->dtype()), " are no numbers"));
  }
  if (tensor->rank() > 1) values.columns = tensor->dim(tensor->rank() - 1);
  values.rows = values.columns == 0 ? 0 : tensor->num_elements() / values.columns;
  return values;
}

absl::StatusOr<std::vector<int64_t>> ReadClasses(const Metric::Batch& batch,
                                                 const MetricValues& outputs) {
  ASSIGN_OR_RETURN(const MetricValues labels, ReadValues(batch.label, "labels"));
  const auto count = static_cast<int64_t>(labels.numbers.size());
  std::vector<int64_t> classes(outputs.rows);
  if (count == outputs.rows) {
    for (int64_t i = 0; i < count; ++i) classes[i] = static_cast<int64_t>(labels.numbers[i]);
  } else if (labels.rows == outputs.rows && labels.columns == outputs.columns) {
    for (int64_t i = 0; i < labels.rows; ++i) classes[i] = ArgMax(labels.row(i), labels.columns);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("labels of shape ", batch.label->shape().ToString(),
                     " are no classes for outputs of shape ", batch.output->shape().ToString()));
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
