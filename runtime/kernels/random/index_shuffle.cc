// RandomIndexShuffle: where a random permutation of [0, max_index] takes an index, without making
// the permutation.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/shuffled_index.h"

namespace tessera {
namespace {

// Inputs: indices, seeds of three numbers, and the largest indices; each is one for all, or one for
// each output. Errors: INVALID_ARGUMENT for other shapes, and an index out of range.
class RandomIndexShuffleKernel : public OpKernel {
 public:
  explicit RandomIndexShuffleKernel(const KernelBuild& build)
      : rounds_(build.attr<int64_t>("rounds")) {
    if (rounds_ < 4 || rounds_ % 2 != 0) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("rounds must be even and at least 4, are ", rounds_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& seeds = ctx.input(1);
    const Tensor& limits = ctx.input(2);
    if (indices.rank() > 1 || limits.rank() > 1) {
      return absl::InvalidArgumentError("index and max_index must be scalars or vectors");
    }
    const int seed_rank = seeds.rank();
    if (seed_rank < 1 || seed_rank > 2 || seeds.dim(seed_rank - 1) != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("seed must have shape [3] or [n,3], has ", seeds.shape().ToString()));
    }
    const bool is_scalar = indices.rank() == 0 && seed_rank == 1 && limits.rank() == 0;
    const int64_t count =
        std::max({indices.num_elements(), seeds.num_elements() / 3, limits.num_elements()});
    const auto fits = [&](const Tensor& t, int vector_rank) {
      return t.rank() < vector_rank || t.dim(0) == count;
    };
    if (!fits(indices, 1) || !fits(seeds, 2) || !fits(limits, 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index, seed and max_index are for different numbers of outputs: their shapes are ",
          indices.shape().ToString(), ", ", seeds.shape().ToString(), " and ",
          limits.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, is_scalar ? Shape() : Shape{count}));
    return VisitIndexType(indices.dtype(), [&]<typename T>() {
      return VisitIndexType(
          seeds.dtype(), [&]<typename S>() { return ShuffleAll<T, S>(indices, seeds, limits, y); });
    });
  }

 private:
  template <typename T, typename S>
  absl::Status ShuffleAll(const Tensor& indices, const Tensor& seeds, const Tensor& limits,
                          Tensor* y) const {
    const int64_t index_step = indices.rank(), limit_step = limits.rank();
    const int64_t seed_step = seeds.rank() == 1 ? 0 : 3;
    for (int64_t i = 0; i < y->num_elements(); ++i) {
      const T index = indices.data<T>()[i * index_step];
      const T limit = limits.data<T>()[i * limit_step];
      const S* const seed = seeds.data<S>() + i * seed_step;
      if (index < 0 || limit < index) {
        return absl::InvalidArgumentError(
            absl::StrCat("index ", index, " is not in [0, ", limit, "]"));
      }
      const ShuffleKey key = {static_cast<uint32_t>(seed[0]), static_cast<uint32_t>(seed[1]),
                              static_cast<uint32_t>(seed[2])};
      y->data<T>()[i] = static_cast<T>(
          ShuffledIndex(static_cast<uint64_t>(index), key, static_cast<uint64_t>(limit), rounds_));
    }
    return absl::OkStatus();
  }

  const int64_t rounds_;
};
REGISTER_KERNEL("RandomIndexShuffle", kCpu, RandomIndexShuffleKernel);

}  // namespace
}  // namespace tessera
