// Seeds of datasets, AnonymousSeedGenerator, AnonymousRandomSeedGenerator, DummySeedGenerator.
#include "runtime/kernels/data/seed_generator.h"

#include <random>

#include "runtime/base/status.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {

SeedPair ChosenSeeds(SeedPair seeds) {
  if (seeds.seed != 0 || seeds.seed2 != 0) return seeds;
  std::random_device device;
  const auto draw = [&] {
    return static_cast<int64_t>(uint64_t{device()} << 32 | uint64_t{device()});
  };
  seeds.seed = draw();
  seeds.seed2 = draw();
  return seeds;
}

absl::StatusOr<SeedPair> SeedInputs(const KernelContext& ctx, int i) {
  SeedPair seeds;
  ASSIGN_OR_RETURN(seeds.seed, ScalarInput<int64_t>(ctx, i, "seed"));
  ASSIGN_OR_RETURN(seeds.seed2, ScalarInput<int64_t>(ctx, i + 1, "seed2"));
  return seeds;
}

absl::Status DatasetRandom::Transfer(IteratorArchive& archive) {
  RETURN_IF_ERROR(archive.SignedNumber("seed", &seeds_.seed));
  RETURN_IF_ERROR(archive.SignedNumber("seed2", &seeds_.seed2));
  RETURN_IF_ERROR(archive.Number("drawn", &drawn_));
  if (!archive.restoring()) return absl::OkStatus();
  Philox generator = Generator(seeds_);
  generator.Skip(static_cast<uint64_t>(drawn_) / Philox::kBlockSize);
  numbers_ = PhiloxStream(generator);
  for (int64_t i = 0; i < drawn_ % Philox::kBlockSize; ++i) numbers_.Next();
  return absl::OkStatus();
}

SeedPair SeedGenerator::Next() {
  if (!reshuffle_) return seeds_;
  absl::MutexLock lock(&mu_);
  SeedPair seeds;
  seeds.seed = random_.Next();
  seeds.seed2 = random_.Next();
  return seeds;
}

absl::Status SeedGenerator::Transfer(IteratorArchive& archive) {
  absl::MutexLock lock(&mu_);
  return random_.Transfer(archive);
}

IntrusivePtr<SeedGenerator> SeedGeneratorInput(const KernelContext& ctx, int i, SeedPair seeds,
                                               bool reshuffle) {
  absl::StatusOr<IntrusivePtr<SeedGenerator>> generator = ctx.Resource<SeedGenerator>(i);
  return generator.ok() ? *std::move(generator) : MakeRefCounted<SeedGenerator>(seeds, reshuffle);
}

namespace {

// The handles own the generator; the deleter is a value that nobody looks at.
class SeedGeneratorKernel final : public OpKernel {
 public:
  explicit SeedGeneratorKernel(const KernelBuild& build) : name_(build.node_name()) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SeedPair seeds, SeedInputs(ctx, 0));
    bool reshuffle = true;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(reshuffle, ScalarInput<bool>(ctx, 2, "reshuffle"));
    }
    ResourceHandle handle;
    handle.name = name_;
    handle.type_name = std::string(SeedGenerator::kTypeName);
    handle.resource = MakeRefCounted<SeedGenerator>(seeds, reshuffle);
    RETURN_IF_ERROR(SetScalarOutput(ctx, 0, std::move(handle)));
    return SetScalarOutput(ctx, 1, Variant());
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("AnonymousRandomSeedGenerator", kCpu, SeedGeneratorKernel);
REGISTER_KERNEL("AnonymousSeedGenerator", kCpu, SeedGeneratorKernel);

// A handle that names nothing: who takes it makes the resource himself.
class DummyHandleKernel final : public OpKernel {
 public:
  explicit DummyHandleKernel(const KernelBuild& build) : name_(build.node_name()) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ResourceHandle handle;
    handle.name = name_;
    handle.type_name = "dummy";
    return SetScalarOutput(ctx, 0, std::move(handle));
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("DummySeedGenerator", kCpu, DummyHandleKernel);
REGISTER_KERNEL("DummyMemoryCache", kCpu, DummyHandleKernel);

// What the handles own goes with the last of them.
class DeleteKernel final : public OpKernel {
 public:
  explicit DeleteKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};
REGISTER_KERNEL("DeleteRandomSeedGenerator", kCpu, DeleteKernel);
REGISTER_KERNEL("DeleteSeedGenerator", kCpu, DeleteKernel);
REGISTER_KERNEL("DeleteMemoryCache", kCpu, DeleteKernel);

}  // namespace
}  // namespace tessera
