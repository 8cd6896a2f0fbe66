// Distributions over classes from which candidate samplers draw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/random/simple_random.h"

namespace tessera {

// A distribution over [0, range). Thread-safe unless it learns.
class CandidateDistribution {
 public:
  virtual ~CandidateDistribution() = default;
  virtual int64_t range() const = 0;
  virtual int64_t Draw(SimpleRandom& random) const = 0;
  // Returns 0 for classes outside the range.
  virtual float Probability(int64_t candidate) const = 0;
  // How many classes can be drawn at all.
  virtual int64_t num_possible() const { return range(); }
  // Tells a distribution that learns what the true classes were.
  virtual void Learn(absl::Span<const int64_t> /*classes*/) {}
};

// Most classes that a distribution with a count for each may have: more would take gigabytes.
inline constexpr int64_t kMaxCandidates = int64_t{1} << 28;

// All classes alike.
std::unique_ptr<CandidateDistribution> UniformCandidates(int64_t range);
// Class k with probability log((k + 2) / (k + 1)) / log(range + 1): Zipf's law, for classes that
// are sorted by falling frequency.
std::unique_ptr<CandidateDistribution> LogUniformCandidates(int64_t range);
// A distribution by how often each class was learnt, plus one. Not thread-safe.
std::unique_ptr<CandidateDistribution> LearnedCandidates(int64_t range);

struct UnigramOptions {
  std::vector<float> unigrams;        // counts of the classes after the reserved ones
  float distortion = 1;               // exponent of the counts
  int64_t num_reserved_ids = 0;       // classes before them that are never drawn
  int64_t num_shards = 1, shard = 0;  // takes only every num_shards-th class
};
// A distribution by given counts. Errors: INVALID_ARGUMENT unless there are `range` classes with a
// sum above 0.
absl::StatusOr<std::unique_ptr<CandidateDistribution>> UnigramCandidates(
    int64_t range, const UnigramOptions& options);

// Reads the counts from the last column of a file of comma-separated lines, one a class.
// Errors: those of reading; INVALID_ARGUMENT for a line that does not end in a number.
absl::StatusOr<std::vector<float>> ReadUnigrams(const std::string& file);

}  // namespace tessera
