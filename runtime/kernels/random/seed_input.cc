#include "runtime/kernels/random/seed_input.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/random/philox_generator.h"

namespace tessera {

SeedInput::SeedInput(const KernelBuild& build)
    : is_on_cpu_(build.device() == nullptr || build.device()->type() == kCpu),
      key_of_seeds_(build) {}

absl::StatusOr<PhiloxSource> SeedInput::Generator(KernelContext& ctx, const Tensor& seed) const {
  if (is_on_cpu_) return GeneratorFromSeed(seed);
  RETURN_IF_ERROR(CheckSeed(seed));
  ASSIGN_OR_RETURN(Tensor key, ctx.AllocateTemp(DType::kUint64, Shape{1}));
  ASSIGN_OR_RETURN(Tensor counter, ctx.AllocateTemp(DType::kUint64, Shape{2}));
  RETURN_IF_ERROR(key_of_seeds_(ctx, seed, &key, &counter));
  return PhiloxSource(std::move(key), std::move(counter));
}

absl::StatusOr<PhiloxSource> SeedInput::Generator(const Tensor& key, const Tensor& counter,
                                                  const Tensor& algorithm) const {
  if (is_on_cpu_) return GeneratorFromKey(key, counter, algorithm);
  RETURN_IF_ERROR(CheckKey(key, counter, algorithm));
  return PhiloxSource(key, counter);
}

}  // namespace tessera
