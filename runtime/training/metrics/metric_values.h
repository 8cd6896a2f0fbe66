// The tensors of a batch as rows of numbers, as all metrics read them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/training/metrics/metric.h"

namespace tessera {

// Row-major numbers of a tensor.
struct MetricValues {
  std::vector<float> numbers;
  int64_t rows = 0;     // the product of all dimensions but the last; each element of a vector
  int64_t columns = 1;  // the last dimension; 1 for vectors and scalars

  const float* row(int64_t i) const { return numbers.data() + i * columns; }
};

// Errors: INVALID_ARGUMENT for a missing tensor and for dtypes that are no real numbers.
absl::StatusOr<MetricValues> ReadValues(const Tensor* tensor, absl::string_view what);

// Classes as numbers, one for each row of `outputs`: from a label for each row, which need not be a
// class, such as NaN or 0.5, or from the greatest of as many columns as the outputs have.
// Errors: INVALID_ARGUMENT for other shapes.
absl::StatusOr<std::vector<float>> ReadClasses(const Metric::Batch& batch,
                                               const MetricValues& outputs);

// The labels as numbers, in the shape of `outputs`. Errors: INVALID_ARGUMENT for another number.
absl::StatusOr<MetricValues> ReadTargets(const Metric::Batch& batch, const MetricValues& outputs);

// A weight for each of `count` values; an element of the tensor counts for as many values as follow
// each other. All 1 if there is no tensor. Errors: INVALID_ARGUMENT if it does not divide them.
absl::StatusOr<std::vector<float>> ReadWeights(const Tensor* weight, int64_t count);

// Returns the index of the greatest number, the first of equal ones.
int64_t ArgMax(const float* numbers, int64_t count);

}  // namespace tessera
