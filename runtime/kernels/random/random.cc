// Uniform and normal random numbers: of a kernel's own generator (RandomUniform), of seeds or keys
// that come as inputs (StatelessRandomUniform), and of a generator kept in a variable
// (StatefulUniform).
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/random_fill.h"
#include "runtime/kernels/random/generator_state.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/random/seed_input.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless both are scalars.
absl::Status CheckBounds(const Tensor& minval, const Tensor& maxval) {
  for (const Tensor* bound : {&minval, &maxval}) {
    if (bound->shape().IsScalar()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'minval' and 'maxval' must be scalars, not of shape ", bound->shape().ToString()));
  }
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT for scalars with nothing between them.
absl::StatusOr<IntegerRange> RangeBetween(const Tensor& minval, const Tensor& maxval) {
  const auto between = [&]<typename T>() -> absl::StatusOr<IntegerRange> {
    const T low = minval.scalar<T>(), high = maxval.scalar<T>();
    if (low < high) {
      const auto bits = static_cast<uint64_t>(low);
      return IntegerRange{.low = bits, .range = static_cast<uint64_t>(high) - bits};
    }
    return absl::InvalidArgumentError(
        absl::StrCat("'minval' must be below 'maxval', they are ", low, " and ", high));
  };
  return VisitIndexType(minval.dtype(), between);
}

// What all random ops of one distribution do once they have their generator.
template <Distribution kDistribution>
class RandomFiller {
 public:
  explicit RandomFiller(const KernelBuild& build) : fill_(build) {}

  // Fills *out. For kUniformInt, inputs `bounds` and `bounds` + 1 are minval and maxval, whose
  // values do not matter to an empty output.
  // Errors: those of CheckBounds(), RangeBetween() and RandomFill.
  absl::Status operator()(KernelContext& ctx, const PhiloxSource& generator, int bounds,
                          Tensor* out) const {
    IntegerRange integers;
    if constexpr (kDistribution == Distribution::kUniformInt) {
      RETURN_IF_ERROR(CheckBounds(ctx.input(bounds), ctx.input(bounds + 1)));
      if (out->num_elements() == 0) return absl::OkStatus();
      ASSIGN_OR_RETURN(integers, RangeBetween(ctx.input(bounds), ctx.input(bounds + 1)));
    }
    return fill_(ctx, kDistribution, generator, integers, out);
  }

 private:
  const Primitive<RandomFill> fill_;
};

// Inputs: shape (and minval, maxval).
template <Distribution kDistribution>
class RandomKernel : public OpKernel {
 public:
  explicit RandomKernel(const KernelBuild& build) : fill_(build), generator_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const PhiloxSource generator,
                     generator_.ReserveInEachRun(ctx, ReservedBlocks(out->num_elements())));
    return fill_(ctx, generator, /*bounds=*/1, out);
  }

 private:
  const RandomFiller<kDistribution> fill_;
  SeededPhilox generator_;
};
REGISTER_KERNEL("RandomUniform", DevicesOf<RandomFill>, RandomKernel<Distribution::kUniform>)
    .HostMemory("shape");
REGISTER_KERNEL("RandomStandardNormal", DevicesOf<RandomFill>, RandomKernel<Distribution::kNormal>)
    .HostMemory("shape");
REGISTER_KERNEL("TruncatedNormal", DevicesOf<RandomFill>,
                RandomKernel<Distribution::kTruncatedNormal>)
    .HostMemory("shape");
REGISTER_KERNEL("RandomUniformInt", DevicesOf<RandomFill>, RandomKernel<Distribution::kUniformInt>)
    .HostMemory("shape")
    .HostMemory("minval")
    .HostMemory("maxval");

// Inputs: shape, seed (and minval, maxval).
template <Distribution kDistribution>
class StatelessRandomKernel : public OpKernel {
 public:
  explicit StatelessRandomKernel(const KernelBuild& build) : fill_(build), seed_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    const Tensor& seed = ctx.input(1);
    ASSIGN_OR_RETURN(const PhiloxSource generator, seed_.Generator(ctx, seed));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    if (seed.dtype() != DType::kInt32 && seed.dtype() != DType::kInt64) {
      return absl::InvalidArgumentError(
          absl::StrCat("'seed' must be int32 or int64, is ", DTypeName(seed.dtype())));
    }
    return fill_(ctx, generator, /*bounds=*/2, out);
  }

 private:
  const RandomFiller<kDistribution> fill_;
  const SeedInput seed_;
};
#define REGISTER_STATELESS(op, distribution)                         \
  REGISTER_KERNEL(op, (DevicesOf<RandomFill, KeyOfSeeds>),           \
                  StatelessRandomKernel<Distribution::distribution>) \
      .HostMemory("shape")
REGISTER_STATELESS("StatelessRandomUniform", kUniform);
REGISTER_STATELESS("StatelessRandomNormal", kNormal);
REGISTER_STATELESS("StatelessTruncatedNormal", kTruncatedNormal);
REGISTER_STATELESS("StatelessRandomUniformFullInt", kFullInt);
REGISTER_STATELESS("StatelessRandomUniformInt", kUniformInt)
    .HostMemory("minval")
    .HostMemory("maxval");

// Inputs: shape, key, counter, alg (and minval, maxval).
template <Distribution kDistribution>
class StatelessRandomV2Kernel : public OpKernel {
 public:
  explicit StatelessRandomV2Kernel(const KernelBuild& build) : fill_(build), seed_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    // Which algorithm it is does not matter to an empty output.
    const bool is_scalar = ctx.input(3).shape().IsScalar();
    if (out->num_elements() == 0 && is_scalar) {
      return CheckKeyShapes(ctx.input(1), ctx.input(2));
    }
    ASSIGN_OR_RETURN(const PhiloxSource generator,
                     seed_.Generator(ctx.input(1), ctx.input(2), ctx.input(3)));
    return fill_(ctx, generator, /*bounds=*/4, out);
  }

 private:
  const RandomFiller<kDistribution> fill_;
  const SeedInput seed_;
};
#define REGISTER_STATELESS_V2(op, distribution)                        \
  REGISTER_KERNEL(op, (DevicesOf<RandomFill, KeyOfSeeds>),             \
                  StatelessRandomV2Kernel<Distribution::distribution>) \
      .HostMemory("shape")                                             \
      .HostMemory("alg")
REGISTER_STATELESS_V2("StatelessRandomUniformV2", kUniform);
REGISTER_STATELESS_V2("StatelessRandomNormalV2", kNormal);
REGISTER_STATELESS_V2("StatelessTruncatedNormalV2", kTruncatedNormal);
REGISTER_STATELESS_V2("StatelessRandomUniformFullIntV2", kFullInt);
REGISTER_STATELESS_V2("StatelessRandomUniformIntV2", kUniformInt)
    .HostMemory("minval")
    .HostMemory("maxval");

// Numbers of a new generator in each run.
class NonDeterministicIntsKernel : public OpKernel {
 public:
  explicit NonDeterministicIntsKernel(const KernelBuild& build) : fill_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const PhiloxSource generator, GeneratorOfEachRun(ctx, RandomlySeeded));
    return fill_(ctx, generator, /*bounds=*/1, out);
  }

 private:
  const RandomFiller<Distribution::kFullInt> fill_;
};
REGISTER_KERNEL("NonDeterministicInts", DevicesOf<RandomFill>, NonDeterministicIntsKernel)
    .HostMemory("shape")
    .TypeConstraint("dtype", {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64});

// Splits a seed into the key and counter of the V2 ops, and names the algorithm.
class GetKeyCounterKernel : public OpKernel {
 public:
  explicit GetKeyCounterKernel(const KernelBuild& build) : key_of_seeds_(build) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckSeed(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * key, ctx.AllocateOutput(0, Shape{1}));
    ASSIGN_OR_RETURN(Tensor * counter, ctx.AllocateOutput(1, Shape{2}));
    if (ctx.num_outputs() > 2) RETURN_IF_ERROR(SetScalarOutput<int32_t>(ctx, 2, 1));
    return key_of_seeds_(ctx, ctx.input(0), key, counter);
  }

 private:
  const Primitive<KeyOfSeeds> key_of_seeds_;
};
REGISTER_KERNEL("StatelessRandomGetKeyCounter", DevicesOf<KeyOfSeeds>, GetKeyCounterKernel);
REGISTER_KERNEL("StatelessRandomGetKeyCounterAlg", DevicesOf<KeyOfSeeds>, GetKeyCounterKernel)
    .HostMemory("alg");

class GetAlgKernel : public OpKernel {
 public:
  explicit GetAlgKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override { return SetScalarOutput<int32_t>(ctx, 0, 1); }
};
REGISTER_KERNEL("StatelessRandomGetAlg", kAnyDevice, GetAlgKernel).HostMemory("alg");

// Inputs: resource, algorithm, shape (and minval, maxval).
template <Distribution kDistribution>
class StatefulRandomKernel : public OpKernel {
 public:
  explicit StatefulRandomKernel(const KernelBuild& build) : fill_(build), variable_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    if constexpr (kDistribution == Distribution::kUniformInt) {
      // Bounds that are refused, be it for an empty output, leave the variable alone.
      RETURN_IF_ERROR(CheckBounds(ctx.input(3), ctx.input(4)));
      RETURN_IF_ERROR(RangeBetween(ctx.input(3), ctx.input(4)).status());
    }
    RETURN_IF_ERROR(CheckPhilox(ctx.input(1)));
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(2)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const PhiloxSource generator,
                     variable_.Reserve(ctx, ReservedBlocks(out->num_elements())));
    return fill_(ctx, generator, /*bounds=*/3, out);
  }

 private:
  const RandomFiller<kDistribution> fill_;
  const GeneratorVariable variable_;
};
#define REGISTER_STATEFUL(op, distribution)                         \
  REGISTER_KERNEL(op, (DevicesOf<RandomFill, AdvanceGenerator>),    \
                  StatefulRandomKernel<Distribution::distribution>) \
      .HostMemory("resource")                                       \
      .HostMemory("algorithm")                                      \
      .HostMemory("shape")
REGISTER_STATEFUL("StatefulUniform", kUniform);
REGISTER_STATEFUL("StatefulStandardNormalV2", kNormal);
REGISTER_STATEFUL("StatefulTruncatedNormal", kTruncatedNormal);
REGISTER_STATEFUL("StatefulUniformFullInt", kFullInt);
REGISTER_STATEFUL("StatefulUniformInt", kUniformInt).HostMemory("minval").HostMemory("maxval");

// The first version: the algorithm is the variable's first number, the counter and the key follow.
class StatefulStandardNormalKernel : public OpKernel {
 public:
  explicit StatefulStandardNormalKernel(const KernelBuild& build) : fill_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadSampleShape(ctx.input(1)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    Philox current(0);
    RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& state) -> absl::Status {
      if (state.dtype() != DType::kInt64 || !state.shape().IsVector() || state.dim(0) < 4) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the state must be a vector of four int64 or more, is ", state.ToString()));
      }
      int64_t* const words = state.data<int64_t>();
      RETURN_IF_ERROR(CheckPhilox(words[0]));
      current = AdvanceState(words + 1, ReservedBlocks(out->num_elements()));
      return absl::OkStatus();
    }));
    return fill_(ctx, current, /*bounds=*/2, out);
  }

 private:
  const RandomFiller<Distribution::kNormal> fill_;
};
REGISTER_KERNEL("StatefulStandardNormal", kCpu, StatefulStandardNormalKernel)
    .TypeConstraint("dtype", {DType::kBfloat16, DType::kHalf, DType::kFloat, DType::kDouble});

// Moves the generator on by as many numbers as `delta` says; RngReadAndSkip gives its state before.
class RngSkipKernel : public OpKernel {
 public:
  explicit RngSkipKernel(const KernelBuild& build) : variable_(build) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckPhilox(ctx.input(1)));
    ASSIGN_OR_RETURN(const int64_t delta, ReadIntegerOfScalar(ctx.input(2), "delta"));
    if (ctx.num_outputs() == 0) return variable_.Reserve(ctx, ReservedBlocks(delta)).status();
    ASSIGN_OR_RETURN(Tensor * before, ctx.AllocateOutput(0, Shape{3}));
    return variable_.Reserve(ctx, ReservedBlocks(delta), before);
  }

 private:
  const GeneratorVariable variable_;
};
REGISTER_KERNEL("RngSkip", kCpu, RngSkipKernel);
REGISTER_KERNEL("RngReadAndSkip", DevicesOf<AdvanceGenerator>, RngSkipKernel)
    .HostMemory("resource")
    .HostMemory("alg")
    .HostMemory("delta");

}  // namespace
}  // namespace tessera
