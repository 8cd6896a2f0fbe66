#include "runtime/kernels/random/candidate_distribution.h"

#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

class Uniform final : public CandidateDistribution {
 public:
  explicit Uniform(int64_t range) : range_(range) {}
  int64_t range() const override { return range_; }
  int64_t Draw(SimpleRandom& random) const override {
    return static_cast<int64_t>(random.Below64(static_cast<uint64_t>(range_)));
  }
  float Probability(int64_t) const override { return 1.0f / static_cast<float>(range_); }

 private:
  const int64_t range_;
};

class LogUniform final : public CandidateDistribution {
 public:
  explicit LogUniform(int64_t range)
      : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}
  int64_t range() const override { return range_; }
  int64_t Draw(SimpleRandom& random) const override {
    // Rounding may reach the range itself.
    return (static_cast<int64_t>(std::exp(random.Double() * log_range_)) - 1) % range_;
  }
  float Probability(int64_t candidate) const override {
    const double k = static_cast<double>(candidate);
    return static_cast<float>(std::log((k + 2) / (k + 1)) / log_range_);
  }

 private:
  const int64_t range_;
  const double log_range_;
};

// A. Walker, An efficient method for generating discrete random variables, 1977: each class holds a
// share of its own and an alias that gets the rest.
class Unigram final : public CandidateDistribution {
 public:
  explicit Unigram(std::vector<float> weights)
      : weights_(std::move(weights)), shares_(weights_.size()), aliases_(weights_.size(), -1) {
    double sum = 0;
    for (const float weight : weights_) {
      sum += weight;
      total_ += weight;
      possible_ += weight > 0;
    }
    const int n = static_cast<int>(weights_.size());
    std::vector<double> rest(n);
    std::vector<int> high, low;
    for (int i = 0; i < n; ++i) {
      rest[i] = weights_[i] * n / sum;
      (rest[i] < 1 ? low : high).push_back(i);
    }
    while (!high.empty() && !low.empty()) {
      const int l = low.back(), h = high.back();
      low.pop_back();
      high.pop_back();
      aliases_[l] = h;
      rest[h] -= 1 - rest[l];
      (rest[h] < 1 ? low : high).push_back(h);
    }
    for (int i = 0; i < n; ++i) shares_[i] = static_cast<float>(rest[i]);
    // What rounding left over is close to 1.
    for (const std::vector<int>* left : {&high, &low}) {
      for (const int i : *left) {
        shares_[i] = 1;
        aliases_[i] = i;
      }
    }
  }

  int64_t range() const override { return static_cast<int64_t>(weights_.size()); }
  int64_t num_possible() const override { return possible_; }
  int64_t Draw(SimpleRandom& random) const override {
    const float r = random.Float();
    const uint32_t i = random.Below32(static_cast<uint32_t>(weights_.size()));
    return r < shares_[i] ? i : aliases_[i];
  }
  float Probability(int64_t candidate) const override {
    if (candidate < 0 || candidate >= range()) return 0;
    return static_cast<float>(weights_[candidate] / total_);
  }

 private:
  const std::vector<float> weights_;
  float total_ = 0;
  int64_t possible_ = 0;
  std::vector<float> shares_;
  std::vector<int> aliases_;
};

// Sums of the weights in a binary tree, so that drawing and learning take logarithmic time.
class Learned final : public CandidateDistribution {
 public:
  explicit Learned(int64_t range) : range_(range) {
    levels_.emplace_back(range, 1);
    while (levels_.back().size() > 1) {
      const std::vector<int32_t>& below = levels_.back();
      std::vector<int32_t> sums((below.size() + 1) / 2, 0);
      for (size_t i = 0; i < below.size(); ++i) sums[i / 2] += below[i];
      levels_.push_back(std::move(sums));
    }
  }
  int64_t range() const override { return range_; }
  int64_t Draw(SimpleRandom& random) const override {
    int32_t rest = static_cast<int32_t>(random.Below32(static_cast<uint32_t>(total())));
    size_t position = 0;
    for (size_t level = levels_.size() - 1; level-- > 0;) {
      position *= 2;
      const int32_t left = levels_[level][position];
      if (rest >= left) {
        rest -= left;
        ++position;
      }
    }
    return static_cast<int64_t>(position);
  }
  float Probability(int64_t candidate) const override {
    if (candidate < 0 || candidate >= range_) return 0;
    return static_cast<float>(levels_[0][candidate]) / static_cast<float>(total());
  }
  void Learn(absl::Span<const int64_t> classes) override {
    for (const int64_t c : classes) {
      if (c < 0 || c >= range_ || total() == std::numeric_limits<int32_t>::max()) continue;
      for (size_t level = 0; level < levels_.size(); ++level) ++levels_[level][c >> level];
    }
  }

 private:
  int32_t total() const { return levels_.back()[0]; }

  const int64_t range_;
  std::vector<std::vector<int32_t>> levels_;
};

}  // namespace

std::unique_ptr<CandidateDistribution> UniformCandidates(int64_t range) {
  return std::make_unique<Uniform>(range);
}
std::unique_ptr<CandidateDistribution> LogUniformCandidates(int64_t range) {
  return std::make_unique<LogUniform>(range);
}
std::unique_ptr<CandidateDistribution> LearnedCandidates(int64_t range) {
  return std::make_unique<Learned>(range);
}

absl::StatusOr<std::unique_ptr<CandidateDistribution>> UnigramCandidates(
    int64_t range, const UnigramOptions& options) {
  std::vector<float> weights;
  double sum = 0;
  auto add = [&](int64_t id, float weight) {
    if (id % options.num_shards != options.shard) return;
    weights.push_back(weight);
    sum += weight;
  };
  if (range > kMaxCandidates) {
    return absl::InvalidArgumentError(
        absl::StrCat("range_max is ", range, ", at most ", kMaxCandidates, " can have counts"));
  }
  if (options.num_reserved_ids > range) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_reserved_ids is ", options.num_reserved_ids, ", range_max only ", range));
  }
  int64_t id = 0;
  for (; id < options.num_reserved_ids; ++id) add(id, 0);
  for (const float count : options.unigrams) add(id++, std::pow(count, options.distortion));
  if (static_cast<int64_t>(weights.size()) != range || !(sum > 0) || !std::isfinite(sum)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", weights.size(), " classes with counts that add up to ", sum,
                     "; range_max asks for ", range, " and a positive sum"));
  }
  return std::make_unique<Unigram>(std::move(weights));
}

absl::StatusOr<std::vector<float>> ReadUnigrams(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  std::vector<float> counts;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    const std::vector<absl::string_view> columns = absl::StrSplit(line, ',');
    float count;
    if (!absl::SimpleAtof(columns.back(), &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", counts.size() + 1, ": the last column is not a number"));
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace tessera
