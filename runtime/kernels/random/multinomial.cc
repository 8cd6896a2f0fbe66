// Draws of classes by their logits: Multinomial, StatelessMultinomial.
#include "runtime/kernels/primitives/multinomial.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/random/seed_input.h"

namespace tessera {
namespace {

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

absl::Status Draw(KernelContext& ctx, const Primitive<Multinomial>& multinomial,
                  const PhiloxSource& generator) {
  const Tensor& logits = ctx.input(0);
  const int64_t samples = ctx.input(1).scalar<int32_t>();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape{logits.dim(0), samples}));
  return multinomial(ctx, generator, logits, out);
}

class MultinomialKernel : public OpKernel {
 public:
  explicit MultinomialKernel(const KernelBuild& build) : multinomial_(build), generator_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(Check(ctx.input(0), ctx.input(1)));
    const int64_t samples = (int64_t{ctx.input(1).scalar<int32_t>()} + 3) / 4 * 4;
    ASSIGN_OR_RETURN(
        const PhiloxSource generator,
        generator_.ReserveInEachRun(ctx, ReservedBlocks(ctx.input(0).dim(0) * samples * 2)));
    return Draw(ctx, multinomial_, generator);
  }

 private:
  const Primitive<Multinomial> multinomial_;
  SeededPhilox generator_;
};
REGISTER_KERNEL("Multinomial", DevicesOf<Multinomial>, MultinomialKernel).HostMemory("num_samples");

class StatelessMultinomialKernel : public OpKernel {
 public:
  explicit StatelessMultinomialKernel(const KernelBuild& build)
      : multinomial_(build), seed_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(Check(ctx.input(0), ctx.input(1)));
    ASSIGN_OR_RETURN(const PhiloxSource generator, seed_.Generator(ctx, ctx.input(2)));
    return Draw(ctx, multinomial_, generator);
  }

 private:
  const Primitive<Multinomial> multinomial_;
  const SeedInput seed_;
};
REGISTER_KERNEL("StatelessMultinomial", (DevicesOf<Multinomial, KeyOfSeeds>),
                StatelessMultinomialKernel)
    .HostMemory("num_samples");

}  // namespace
}  // namespace tessera
