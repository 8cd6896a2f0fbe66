#include "runtime/kernels/random/philox_generator.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/capture/run_values.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/key_of_seeds.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

Philox SeedFromAttrs(const KernelBuild& build) {
  const uint64_t seed = build.attr<int64_t>("seed"), seed2 = build.attr<int64_t>("seed2");
  return seed == 0 && seed2 == 0 ? RandomlySeeded() : Philox(seed, seed2);
}

}  // namespace

Philox RandomlySeeded() {
  std::random_device device;
  const uint64_t seed = device() | (uint64_t{device()} << 32);
  return Philox(seed, device() | (uint64_t{device()} << 32));
}

SeededPhilox::SeededPhilox(const KernelBuild& build)
    : first_(SeedFromAttrs(build)), name_(build.node_name()) {}

SeededPhilox::~SeededPhilox() {
  absl::MutexLock lock(&mu_);
  if (state_ != nullptr) state_->Release();
}

absl::StatusOr<IntrusivePtr<RandomState>> SeededPhilox::State(KernelContext& ctx) {
  absl::MutexLock lock(&mu_);
  if (state_ == nullptr) {
    ASSIGN_OR_RETURN(state_, RandomState::Take(ctx.resources(), name_, first_));
  }
  return state_;
}

absl::StatusOr<Philox> SeededPhilox::Reserve(KernelContext& ctx, uint64_t blocks) {
  ASSIGN_OR_RETURN(const IntrusivePtr<RandomState> state, State(ctx));
  return state->Reserve(blocks);
}

absl::StatusOr<PhiloxSource> SeededPhilox::ReserveInEachRun(KernelContext& ctx, uint64_t blocks) {
  ASSIGN_OR_RETURN(const IntrusivePtr<RandomState> state, State(ctx));
  return GeneratorOfEachRun(ctx, [state, blocks] { return state->Reserve(blocks); });
}

absl::StatusOr<PhiloxSource> GeneratorOfEachRun(KernelContext& ctx, std::function<Philox()> next) {
  auto* const values = ctx.stream() == nullptr ? nullptr : dynamic_cast<RunValues*>(ctx.device());
  if (values == nullptr) return PhiloxSource(next());
  const auto set = [next = std::move(next)](Tensor* words) {
    const Philox generator = next();
    words->data<uint64_t>()[0] = generator.key();
    words->data<uint64_t>()[1] = generator.counter_low();
    words->data<uint64_t>()[2] = generator.counter_high();
  };
  ASSIGN_OR_RETURN(const Tensor words, values->AddRunValue(DType::kUint64, Shape{3}, set));
  return PhiloxSource(words.Slice(0, 1), words.Slice(1, 3));
}

absl::StatusOr<Shape> ReadSampleShape(const Tensor& input) {
  if (input.rank() == 1 && (input.dtype() == DType::kInt32 || input.dtype() == DType::kInt64)) {
    return ReadShape(input, "shape");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'shape' must be a vector of int32 or int64, is of ", DTypeName(input.dtype()),
                   " and shape ", input.shape().ToString()));
}

absl::Status CheckSeed(const Tensor& seed) {
  if (seed.shape() == Shape{2}) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'seed' must have two elements, has shape ", seed.shape().ToString()));
}

absl::StatusOr<Philox> GeneratorFromSeed(const Tensor& seed) {
  RETURN_IF_ERROR(CheckSeed(seed));
  uint64_t seeds[2];
  VisitIndexType(seed.dtype(), [&]<typename T>() {
    seeds[0] = static_cast<uint64_t>(seed.data<T>()[0]);
    seeds[1] = static_cast<uint64_t>(seed.data<T>()[1]);
  });
  return PhiloxOfSeeds(seeds[0], seeds[1]);
}

absl::Status UnknownAlgorithm(int64_t number) {
  return absl::InvalidArgumentError(
      absl::StrCat("random algorithm ", number, " is not supported: use Philox (1) or any (3)"));
}

absl::Status CheckKeyShapes(const Tensor& key, const Tensor& counter) {
  if (!(key.shape() == Shape{1})) {
    return absl::InvalidArgumentError(
        absl::StrCat("'key' must have one element, has shape ", key.shape().ToString()));
  }
  if (!counter.shape().IsVector() || counter.dim(0) < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'counter' must be a vector of some elements, has shape ", counter.shape().ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckKey(const Tensor& key, const Tensor& counter, const Tensor& algorithm) {
  ASSIGN_OR_RETURN(const int64_t number, ReadIntegerOfScalar(algorithm, "alg"));
  if (!IsPhilox(number)) return UnknownAlgorithm(number);
  RETURN_IF_ERROR(CheckKeyShapes(key, counter));
  if (counter.dim(0) < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'counter' must have at least two elements, has shape ", counter.shape().ToString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Philox> GeneratorFromKey(const Tensor& key, const Tensor& counter,
                                        const Tensor& algorithm) {
  RETURN_IF_ERROR(CheckKey(key, counter, algorithm));
  return Philox(key.data<uint64_t>()[0], counter.data<uint64_t>()[0], counter.data<uint64_t>()[1]);
}

absl::Status CheckEndsWith(const Shape& shape, const Shape& parameters) {
  const auto dims = shape.dims();
  if (shape.rank() >= parameters.rank() &&
      dims.subspan(shape.rank() - parameters.rank()) == parameters.dims()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Shape passed in must end with broadcasted shape: ", shape.ToString(),
                   " does not end with ", parameters.ToString()));
}

}  // namespace tessera
