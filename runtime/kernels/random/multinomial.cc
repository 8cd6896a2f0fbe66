// Draws of classes by their logits: Multinomial, StatelessMultinomial.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cpu/random_distributions.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/random/random_fill.h"

namespace tessera {
namespace {

// Running totals of exp(logit - max); logits that are not finite count as impossible.
template <typename T>
void RunningTotals(const T* logits, int64_t classes, std::vector<double>* totals) {
  double max = -INFINITY;
  for (int64_t i = 0; i < classes; ++i) {
    const double logit = static_cast<double>(logits[i]);
    if (std::isfinite(logit)) max = std::max(max, logit);
  }
  double total = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const double logit = static_cast<double>(logits[i]);
    if (std::isfinite(logit)) total += std::exp(logit - max);
    (*totals)[i] = total;
  }
}

// Errors: INVALID_ARGUMENT for logits that are no matrix or have no classes, or a number of samples
// that is no scalar or negative.
absl::Status Check(const Tensor& logits, const Tensor& num_samples) {
  if (!logits.shape().IsMatrix()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'logits' must be a matrix, has shape ", logits.shape().ToString()));
  }
  if (!num_samples.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'num_samples' must be a scalar, has shape ", num_samples.shape().ToString()));
  }
  if (num_samples.scalar<int32_t>() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'num_samples' must not be negative, is ", num_samples.scalar<int32_t>()));
  }
  if (logits.dim(1) == 0 && logits.dim(0) > 0) {
    return absl::InvalidArgumentError("'logits' must have at least one class");
  }
  return absl::OkStatus();
}

absl::Status Draw(KernelContext& ctx, const Philox& generator) {
  const Tensor& logits = ctx.input(0);
  const int64_t samples = ctx.input(1).scalar<int32_t>(), classes = logits.dim(1);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape{logits.dim(0), samples}));
  if (out->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(logits.dtype(), [&]<typename T>() {
    PhiloxStream numbers(generator);
    std::vector<double> totals(classes);
    for (int64_t row = 0; row < logits.dim(0); ++row) {
      RunningTotals(logits.data<T>() + row * classes, classes, &totals);
      for (int64_t i = row * samples; i < (row + 1) * samples; ++i) {
        const uint32_t x0 = numbers.Next(), x1 = numbers.Next();
        const double target = UnitDouble(x0, x1) * totals.back();
        const int64_t drawn =
            std::upper_bound(totals.begin(), totals.end(), target) - totals.begin();
        if (out->dtype() == DType::kInt32) {
          out->data<int32_t>()[i] = static_cast<int32_t>(drawn);
        } else {
          out->data<int64_t>()[i] = drawn;
        }
      }
    }
    return absl::OkStatus();
  });
}

class MultinomialKernel : public OpKernel {
 public:
  explicit MultinomialKernel(const KernelBuild& build) : generator_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(Check(ctx.input(0), ctx.input(1)));
    const int64_t samples = (ctx.input(1).scalar<int32_t>() + 3) / 4 * 4;
    return Draw(ctx, generator_.Reserve(ReservedBlocks(ctx.input(0).dim(0) * samples * 2)));
  }

 private:
  SeededPhilox generator_;
};
REGISTER_KERNEL("Multinomial", kCpu, MultinomialKernel).HostMemory("num_samples");

class StatelessMultinomialKernel : public OpKernel {
 public:
  explicit StatelessMultinomialKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(Check(ctx.input(0), ctx.input(1)));
    ASSIGN_OR_RETURN(const Philox generator, GeneratorFromSeed(ctx.input(2)));
    return Draw(ctx, generator);
  }
};
REGISTER_KERNEL("StatelessMultinomial", kCpu, StatelessMultinomialKernel)
    .HostMemory("num_samples")
    .HostMemory("seed");

}  // namespace
}  // namespace tessera
