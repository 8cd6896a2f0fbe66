// The makers of the metrics' types, which Metric::Make() chooses from.
#pragma once

#include <memory>
#include <optional>

#include "runtime/training/metrics/metric.h"

namespace tessera {

// With a threshold, each output says by itself whether it is 1; without one, the greatest of
// several columns is the class.
std::unique_ptr<Metric> MakeAccuracy(std::optional<double> threshold);
std::unique_ptr<Metric> MakeTopKAccuracy(int64_t k);
std::unique_ptr<Metric> MakeMeanSquaredError();
std::unique_ptr<Metric> MakeMeanAbsoluteError();
std::unique_ptr<Metric> MakeMeanLoss();
std::unique_ptr<Metric> MakeAuc();
std::unique_ptr<Metric> MakePrecision(double threshold, std::optional<int64_t> class_id);
std::unique_ptr<Metric> MakeRecall(double threshold, std::optional<int64_t> class_id);

}  // namespace tessera
