// Candidate samplers: classes that stand for all wrong ones in sampled losses, with how often each
// class is to be expected among them.
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/random/candidate_distribution.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless the classes are a matrix of `num_true` columns in [0, range).
absl::Status CheckTrueClasses(const Tensor& classes, int64_t num_true, int64_t range) {
  if (classes.rank() != 2 || classes.dim(1) != num_true) {
    return absl::InvalidArgumentError(
        absl::StrCat("true_classes must be a matrix with num_true = ", num_true,
                     " columns, has shape ", classes.shape().ToString()));
  }
  for (const int64_t candidate : classes.flat<int64_t>()) {
    if (candidate >= 0 && candidate < range) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("class ", candidate, " of true_classes is not in [0, ", range, ")"));
  }
  return absl::OkStatus();
}

// How often a class of probability `p` is expected among `count` different ones that took `tries`.
float ExpectedCount(float p, int64_t count, int64_t tries) {
  if (tries == count) return p * static_cast<float>(count);
  return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(-p)));
}

// Draws that one run may take.
constexpr int64_t kMaxTries = int64_t{1} << 28;

class CandidateSamplerKernel : public OpKernel {
 public:
  CandidateSamplerKernel(const KernelBuild& build,
                         std::unique_ptr<CandidateDistribution> distribution)
      : num_true_(build.attr<int64_t>("num_true")),
        num_sampled_(build.attr<int64_t>("num_sampled")),
        unique_(build.attr<bool>("unique")),
        distribution_(std::move(distribution)),
        generator_(build) {
    if (num_sampled_ > std::numeric_limits<int32_t>::max()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("num_sampled is ", num_sampled_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& true_classes = ctx.input(0);
    RETURN_IF_ERROR(CheckTrueClasses(true_classes, num_true_, distribution_->range()));
    absl::MutexLock lock(&mu_);
    if (unique_ && distribution_->num_possible() < num_sampled_) {
      return absl::InvalidArgumentError(absl::StrCat("Sampler's range is too small: ", num_sampled_,
                                                     " different classes cannot be drawn from ",
                                                     distribution_->num_possible()));
    }
    ASSIGN_OR_RETURN(Tensor* const sampled, ctx.AllocateOutput(0, Shape{num_sampled_}));
    ASSIGN_OR_RETURN(Tensor* const true_counts, ctx.AllocateOutput(1, true_classes.shape()));
    ASSIGN_OR_RETURN(Tensor* const sampled_counts, ctx.AllocateOutput(2, Shape{num_sampled_}));
    ASSIGN_OR_RETURN(const Philox generator,
                     generator_.Reserve(ctx, (2048 * static_cast<uint64_t>(num_sampled_) + 3) / 4));
    SimpleRandom random(generator);
    ASSIGN_OR_RETURN(const int64_t tries, DrawAll(random, sampled->flat<int64_t>()));
    SetExpectedCounts(true_classes, tries, true_counts);
    SetExpectedCounts(*sampled, tries, sampled_counts);
    distribution_->Learn(true_classes.flat<int64_t>());
    return absl::OkStatus();
  }

 private:
  // Returns how many draws it took.
  // Errors: RESOURCE_EXHAUSTED if different classes do not turn up, as they are all but impossible.
  absl::StatusOr<int64_t> DrawAll(SimpleRandom& random, absl::Span<int64_t> sampled) const {
    absl::flat_hash_set<int64_t> used;
    int64_t tries = 0;
    for (int64_t& candidate : sampled) {
      do {
        candidate = distribution_->Draw(random);
        if (++tries > kMaxTries) {
          return absl::ResourceExhaustedError(absl::StrCat(
              "no ", num_sampled_, " different classes turned up in ", kMaxTries, " draws"));
        }
      } while (unique_ && !used.insert(candidate).second);
    }
    return tries;
  }

  void SetExpectedCounts(const Tensor& classes, int64_t tries, Tensor* counts) const {
    const auto of = classes.flat<int64_t>();
    for (size_t i = 0; i < of.size(); ++i) {
      counts->data<float>()[i] =
          ExpectedCount(distribution_->Probability(of[i]), num_sampled_, tries);
    }
  }

  const int64_t num_true_, num_sampled_;
  const bool unique_;
  absl::Mutex mu_;
  const std::unique_ptr<CandidateDistribution> distribution_;  // a learning one is guarded by mu_
  SeededPhilox generator_;
};

class UniformKernel : public CandidateSamplerKernel {
 public:
  explicit UniformKernel(const KernelBuild& build)
      : CandidateSamplerKernel(build, UniformCandidates(build.attr<int64_t>("range_max"))) {}
};
REGISTER_KERNEL("UniformCandidateSampler", kCpu, UniformKernel);

class LogUniformKernel : public CandidateSamplerKernel {
 public:
  explicit LogUniformKernel(const KernelBuild& build)
      : CandidateSamplerKernel(build, LogUniformCandidates(build.attr<int64_t>("range_max"))) {}
};
REGISTER_KERNEL("LogUniformCandidateSampler", kCpu, LogUniformKernel);

class LearnedUnigramKernel : public CandidateSamplerKernel {
 public:
  explicit LearnedUnigramKernel(const KernelBuild& build)
      : CandidateSamplerKernel(build, LearnedCandidates(Range(build))) {}

 private:
  static int64_t Range(const KernelBuild& build) {
    const int64_t range = build.attr<int64_t>("range_max");
    if (range <= kMaxCandidates) return range;
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("range_max is ", range, ", at most ", kMaxCandidates, " can be learnt")));
    return 1;
  }
};
REGISTER_KERNEL("LearnedUnigramCandidateSampler", kCpu, LearnedUnigramKernel);
REGISTER_KERNEL("ThreadUnsafeUnigramCandidateSampler", kCpu, LearnedUnigramKernel);

class FixedUnigramKernel : public CandidateSamplerKernel {
 public:
  explicit FixedUnigramKernel(const KernelBuild& build)
      : CandidateSamplerKernel(build, MakeDistribution(build)) {}

 private:
  static absl::StatusOr<std::unique_ptr<CandidateDistribution>> FromAttrs(
      const KernelBuild& build) {
    UnigramOptions options;
    options.unigrams = build.attr<std::vector<float>>("unigrams");
    options.distortion = build.attr<float>("distortion");
    options.num_reserved_ids = build.attr<int64_t>("num_reserved_ids");
    options.num_shards = build.attr<int64_t>("num_shards");
    options.shard = build.attr<int64_t>("shard");
    const std::string file = build.attr<std::string>("vocab_file");
    if (file.empty() == options.unigrams.empty()) {
      return absl::InvalidArgumentError("Must provide either vocab_file or unigrams, but not both");
    }
    if (!file.empty()) {
      ASSIGN_OR_RETURN(options.unigrams, ReadUnigrams(file));
    }
    return UnigramCandidates(build.attr<int64_t>("range_max"), options);
  }

  static std::unique_ptr<CandidateDistribution> MakeDistribution(const KernelBuild& build) {
    auto distribution = FromAttrs(build);
    if (distribution.ok()) return *std::move(distribution);
    build.Fail(distribution.status());
    return nullptr;
  }
};
REGISTER_KERNEL("FixedUnigramCandidateSampler", kCpu, FixedUnigramKernel);

// All classes in order, each expected once.
class AllCandidatesKernel : public OpKernel {
 public:
  explicit AllCandidatesKernel(const KernelBuild& build)
      : num_true_(build.attr<int64_t>("num_true")),
        num_sampled_(build.attr<int64_t>("num_sampled")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& true_classes = ctx.input(0);
    RETURN_IF_ERROR(CheckTrueClasses(true_classes, num_true_, num_sampled_));
    ASSIGN_OR_RETURN(Tensor* const sampled, ctx.AllocateOutput(0, Shape{num_sampled_}));
    const auto candidates = sampled->flat<int64_t>();
    std::iota(candidates.begin(), candidates.end(), 0);
    for (const auto& [output, shape] :
         {std::pair(1, true_classes.shape()), std::pair(2, Shape{num_sampled_})}) {
      ASSIGN_OR_RETURN(Tensor* const counts, ctx.AllocateOutput(output, shape));
      std::fill_n(counts->data<float>(), counts->num_elements(), 1.0f);
    }
    return absl::OkStatus();
  }

 private:
  const int64_t num_true_, num_sampled_;
};
REGISTER_KERNEL("AllCandidateSampler", kCpu, AllCandidatesKernel);

// Where sampled classes happen to be true ones: the row, the position among the sampled, and a
// weight that takes them out of a softmax.
class AccidentalHitsKernel : public OpKernel {
 public:
  explicit AccidentalHitsKernel(const KernelBuild& build)
      : num_true_(build.attr<int64_t>("num_true")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& true_classes = ctx.input(0);
    const Tensor& sampled = ctx.input(1);
    if (true_classes.rank() != 2 || true_classes.dim(1) != num_true_ || sampled.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("true_classes must be a matrix with num_true = ", num_true_,
                       " columns and sampled_candidates a vector, they have shapes ",
                       true_classes.shape().ToString(), " and ", sampled.shape().ToString()));
    }
    absl::flat_hash_map<int64_t, int64_t> positions;
    for (int64_t i = 0; i < sampled.dim(0); ++i) positions[sampled.data<int64_t>()[i]] = i;
    std::vector<int32_t> rows;
    std::vector<int64_t> ids;
    const auto classes = true_classes.flat<int64_t>();
    for (size_t i = 0; i < classes.size(); ++i) {
      const auto hit = positions.find(classes[i]);
      if (hit == positions.end()) continue;
      rows.push_back(static_cast<int32_t>(i / num_true_));
      ids.push_back(hit->second);
    }
    RETURN_IF_ERROR(SetVectorOutput(ctx, 0, absl::MakeConstSpan(rows)));
    RETURN_IF_ERROR(SetVectorOutput(ctx, 1, absl::MakeConstSpan(ids)));
    ASSIGN_OR_RETURN(Tensor* const weights,
                     ctx.AllocateOutput(2, Shape{static_cast<int64_t>(rows.size())}));
    std::ranges::fill(weights->flat<float>(), -std::numeric_limits<float>::max());
    return absl::OkStatus();
  }

 private:
  const int64_t num_true_;
};
REGISTER_KERNEL("ComputeAccidentalHits", kCpu, AccidentalHitsKernel);

}  // namespace
}  // namespace tessera
