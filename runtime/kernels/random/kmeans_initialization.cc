// KmeansPlusPlusInitialization: draws points far from each other, by which k-means starts (Arthur
// and Vassilvitskii, "k-means++: the advantages of careful seeding", 2007).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "Eigen/Core"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/simple_random.h"

namespace tessera {
namespace {

using Points =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Draws points one by one, each with a probability that grows with the squared distance to its
// nearest neighbour among those drawn before. Used by one thread.
class PointSampler {
 public:
  PointSampler(const Points& points, uint64_t seed)
      : points_(points),
        half_norms_(0.5 * points.rowwise().squaredNorm()),
        distances_(
            Eigen::VectorXf::Constant(points.rows(), std::numeric_limits<float>::infinity())),
        sums_(points.rows()),
        random_(Philox(seed)) {}

  // Returns the best of 1 + `retries` points, judged by the sum of distances that it leaves; stops
  // with CANCELLED or DEADLINE_EXCEEDED when the step of `ctx` ends, because `retries` may be any
  // number.
  absl::StatusOr<int64_t> Sample(const KernelContext& ctx, int64_t retries) {
    int64_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    Eigen::VectorXf best_distances;
    for (int64_t i = 0; i <= retries; ++i) {
      RETURN_IF_ERROR(ctx.CheckGoingOn());
      const int64_t candidate = Draw();
      Eigen::VectorXf left = distances_.cwiseMin(DistancesTo(candidate));
      const float sum = left.sum();
      if (i > 0 && !(sum < least)) continue;
      best = candidate;
      least = sum;
      best_distances = std::move(left);
    }
    Take(best, best_distances);
    return best;
  }

 private:
  // Half of the squared distances. Products are rounded before they are added up, as TensorFlow
  // does: candidates that leave the same sum must tie.
  Eigen::VectorXf DistancesTo(int64_t index) const {
    const Eigen::VectorXf products =
        (points_.array().rowwise() * points_.row(index).array()).rowwise().sum();
    return (half_norms_ - products).array() + half_norms_(index);
  }

  void Take(int64_t index, const Eigen::VectorXf& distances) {
    drawn_.insert(index);
    distances_ = distances;
    std::partial_sum(distances_.data(), distances_.data() + distances_.size(), sums_.data());
  }

  // Never returns a point that was taken; all points are alike while none was.
  int64_t Draw() {
    if (drawn_.empty()) {
      return static_cast<int64_t>(random_.Below64(static_cast<uint64_t>(points_.rows())));
    }
    constexpr int kMaxDraws = 1000;
    for (int i = 0; i < kMaxDraws; ++i) {
      const float at = random_.Float() * sums_(sums_.size() - 1);
      const int64_t index =
          std::upper_bound(sums_.data(), sums_.data() + sums_.size(), at) - sums_.data();
      if (index < points_.rows() && !drawn_.contains(index)) return index;
    }
    // All points that are left coincide with those drawn: any is as good as another.
    int64_t index = 0;
    while (drawn_.contains(index)) ++index;
    return index;
  }

  const Points points_;
  const Eigen::VectorXf half_norms_;
  Eigen::VectorXf distances_, sums_;
  absl::flat_hash_set<int64_t> drawn_;
  SimpleRandom random_;
};

// Inputs: points [n, d], how many to draw, a seed, and how many further candidates to try for each.
// Errors: INVALID_ARGUMENT for other shapes, and for more points than there are.
class KmeansInitializationKernel : public OpKernel {
 public:
  explicit KmeansInitializationKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& points = ctx.input(0);
    if (points.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("points must be a matrix, have shape ", points.shape().ToString()));
    }
    constexpr const char* kNames[] = {"", "num_to_sample", "seed", "num_retries_per_sample"};
    for (int i = 1; i < 4; ++i) {
      if (ctx.input(i).shape().IsScalar()) continue;
      return absl::InvalidArgumentError(absl::StrCat(kNames[i], " must be a scalar, has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
    const auto count = ctx.input(1).scalar<int64_t>();
    if (count <= 0 || count > points.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("num_to_sample must be from 1 to the ",
                                                     points.dim(0), " points, is ", count));
    }
    auto retries = ctx.input(3).scalar<int64_t>();
    if (retries < 0) retries = 2 + static_cast<int64_t>(std::log(count));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, Shape{count, points.dim(1)}));
    // Points without coordinates take no memory, and there may be any number of them.
    if (points.dim(1) == 0) return absl::OkStatus();
    PointSampler sampler(Points(points.data<float>(), points.dim(0), points.dim(1)),
                         static_cast<uint64_t>(ctx.input(2).scalar<int64_t>()));
    for (int64_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const int64_t index, sampler.Sample(ctx, retries));
      std::copy_n(points.data<float>() + index * points.dim(1), points.dim(1),
                  y->data<float>() + i * points.dim(1));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("KmeansPlusPlusInitialization", kCpu, KmeansInitializationKernel);

}  // namespace
}  // namespace tessera
