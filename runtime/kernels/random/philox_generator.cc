#include "runtime/kernels/random/philox_generator.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/index_input.h"

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

absl::StatusOr<Philox> SeededPhilox::Reserve(KernelContext& ctx, uint64_t blocks) {
  absl::MutexLock lock(&mu_);
  if (state_ == nullptr) {
    ASSIGN_OR_RETURN(state_, RandomState::Take(ctx.resources(), name_, first_));
  }
  return state_->Reserve(blocks);
}

absl::StatusOr<Shape> ReadSampleShape(const Tensor& input) {
  if (input.rank() == 1 && (input.dtype() == DType::kInt32 || input.dtype() == DType::kInt64)) {
    return ReadShape(input, "shape");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'shape' must be a vector of int32 or int64, is of ", DTypeName(input.dtype()),
                   " and shape ", input.shape().ToString()));
}

absl::StatusOr<Philox> GeneratorFromSeed(const Tensor& seed) {
  if (!(seed.shape() == Shape{2})) {
    return absl::InvalidArgumentError(
        absl::StrCat("'seed' must have two elements, has shape ", seed.shape().ToString()));
  }
  uint64_t seeds[2];
  VisitIndexType(seed.dtype(), [&]<typename T>() {
    seeds[0] = static_cast<uint64_t>(seed.data<T>()[0]);
    seeds[1] = static_cast<uint64_t>(seed.data<T>()[1]);
  });
  // Seeds are often small and close: a block of another generator spreads them.
  Philox scrambler(0x02461e293ec8f720, seeds[0], seeds[1]);
  const Philox::Block mixed = scrambler.Next();
  return Philox(mixed[0] | (uint64_t{mixed[1]} << 32), 0, mixed[2] | (uint64_t{mixed[3]} << 32));
}

absl::Status UnknownAlgorithm(int64_t number) {
  return absl::InvalidArgumentError(
      absl::StrCat("random algorithm ", number, " is not supported: use Philox (1) or any (3)"));
}

absl::StatusOr<Philox> GeneratorFromKey(const Tensor& key, const Tensor& counter,
                                        const Tensor& algorithm) {
  if (!algorithm.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'alg' must be a scalar, has shape ", algorithm.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const int64_t number, ReadIndexScalar(algorithm, "alg"));
  if (!IsPhilox(number)) return UnknownAlgorithm(number);
  if (!(key.shape() == Shape{1})) {
    return absl::InvalidArgumentError(
        absl::StrCat("'key' must have one element, has shape ", key.shape().ToString()));
  }
  if (!counter.shape().IsVector() || counter.dim(0) < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'counter' must have at least two elements, has shape ", counter.shape().ToString()));
  }
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
