#include "runtime/summary/histogram.h"

#include <algorithm>
#include <cfloat>

#include "tensorflow/core/framework/summary.pb.h"

namespace tessera {
namespace {

std::vector<double> MakeLimits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(DBL_MAX);
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

const std::vector<double>& Limits() {
  static const auto* const limits = new std::vector<double>(MakeLimits());
  return *limits;
}

}  // namespace

SummaryHistogram::SummaryHistogram() : counts_(Limits().size()), min_(DBL_MAX), max_(-DBL_MAX) {}

void SummaryHistogram::Add(double value) {
  const auto limit = std::upper_bound(Limits().begin(), Limits().end(), value);
  // Only the largest double is not below the last limit.
  counts_[std::min<size_t>(limit - Limits().begin(), counts_.size() - 1)] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_of_squares_ += value * value;
}

void SummaryHistogram::ToProto(tensorflow::HistogramProto* proto) const {
  proto->Clear();
  proto->set_min(min_);
  proto->set_max(max_);
  proto->set_num(num_);
  proto->set_sum(sum_);
  proto->set_sum_squares(sum_of_squares_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    // The last bucket of an empty run stands for all of it.
    if (counts_[i] == 0 && i + 1 < counts_.size() && counts_[i + 1] == 0) continue;
    proto->add_bucket_limit(Limits()[i]);
    proto->add_bucket(counts_[i]);
  }
}

}  // namespace tessera
