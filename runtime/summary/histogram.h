// SummaryHistogram: the histograms of event files.
#pragma once

#include <vector>

#include "absl/types/span.h"

namespace tensorflow {
class HistogramProto;
}  // namespace tensorflow

namespace tessera {

// Counts values in TensorFlow's buckets, whose limits grow by a tenth from 1e-12 to 1e20 on both
// sides of zero. A bucket holds the values below its limit, and from the limit of the bucket before
// it on. Not thread-safe.
class SummaryHistogram {
 public:
  SummaryHistogram();

  // Requires a finite value.
  void Add(double value);
  // Overwrites *proto. Neighbouring empty buckets are one.
  void ToProto(tensorflow::HistogramProto* proto) const;

 private:
  std::vector<double> counts_;
  double min_, max_;
  double num_ = 0, sum_ = 0, sum_of_squares_ = 0;
};

}  // namespace tessera
