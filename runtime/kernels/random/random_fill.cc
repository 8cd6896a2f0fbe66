#include "runtime/kernels/random/random_fill.h"

#include <algorithm>
#include <random>

#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cpu/random_distributions.h"

namespace tessera {
namespace {

// Nanoseconds a number.
constexpr double kCost = 15;

// `make(group, out)` makes the numbers of a group; the last group may be cut off.
template <typename T, typename Make>
void FillGroups(KernelContext& ctx, Tensor* out, Make make) {
  constexpr int kGroup = kPerBlock<T>;
  T* const data = out->data<T>();
  const int64_t count = out->num_elements();
  ctx.ParallelFor((count + kGroup - 1) / kGroup, kCost * kGroup, [&](int64_t begin, int64_t end) {
    T group[kGroup];
    for (int64_t g = begin; g < end; ++g) {
      make(g, group);
      std::copy_n(group, std::min<int64_t>(kGroup, count - g * kGroup), data + g * kGroup);
    }
  });
}

// A block a group.
template <typename T, typename D>
void FillBlocks(KernelContext& ctx, const Philox& generator, const D& distribution, Tensor* out) {
  FillGroups<T>(ctx, out, [&](int64_t group, T* numbers) {
    Philox own = generator;
    own.Skip(group);
    distribution(own.Next(), numbers);
  });
}

template <typename T>
absl::Status FillReal(KernelContext& ctx, Distribution distribution, const Philox& generator,
                      Tensor* out) {
  switch (distribution) {
    case Distribution::kUniform:
      FillBlocks<T>(ctx, generator, UniformReal<T>(), out);
      break;
    case Distribution::kNormal:
      FillBlocks<T>(ctx, generator, Normal<T>(), out);
      break;
    default:
      FillGroups<T>(ctx, out, [&](int64_t group, T* numbers) {
        Philox own = generator;
        own.Skip(group * TruncatedNormal<T>::kReserved);
        TruncatedNormal<T>()(own, numbers);
      });
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status FillInt(KernelContext& ctx, Distribution distribution, const Philox& generator,
                     const Tensor* minval, const Tensor* maxval, Tensor* out) {
  if (distribution == Distribution::kFullInt) {
    FillBlocks<T>(ctx, generator, FullInt<T>(), out);
    return absl::OkStatus();
  }
  for (const Tensor* bound : {minval, maxval}) {
    if (!bound->shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'minval' and 'maxval' must be scalars, not of shape ", bound->shape().ToString()));
    }
  }
  if (out->num_elements() == 0) return absl::OkStatus();
  const T low = minval->scalar<T>(), high = maxval->scalar<T>();
  if (!(low < high)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'minval' must be below 'maxval', they are ", low, " and ", high));
  }
  using U = std::make_unsigned_t<T>;
  FillBlocks<T>(ctx, generator, UniformInt<T>{low, static_cast<U>(high) - static_cast<U>(low)},
                out);
  return absl::OkStatus();
}

Philox SeedFromAttrs(const KernelBuild& build) {
  uint64_t seed = build.attr<int64_t>("seed"), seed2 = build.attr<int64_t>("seed2");
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    seed = device() | (uint64_t{device()} << 32);
    seed2 = device() | (uint64_t{device()} << 32);
  }
  return Philox(seed, seed2);
}

}  // namespace

absl::Status FillRandom(KernelContext& ctx, Distribution distribution, const Philox& generator,
                        const Tensor* minval, const Tensor* maxval, Tensor* out) {
  if (distribution == Distribution::kUniformInt || distribution == Distribution::kFullInt) {
    switch (out->dtype()) {
      case DType::kInt32:
        return FillInt<int32_t>(ctx, distribution, generator, minval, maxval, out);
      case DType::kInt64:
        return FillInt<int64_t>(ctx, distribution, generator, minval, maxval, out);
      case DType::kUint32:
        return FillInt<uint32_t>(ctx, distribution, generator, minval, maxval, out);
      case DType::kUint64:
        return FillInt<uint64_t>(ctx, distribution, generator, minval, maxval, out);
      default:
        break;
    }
  } else {
    switch (out->dtype()) {
      case DType::kFloat:
        return FillReal<float>(ctx, distribution, generator, out);
      case DType::kDouble:
        return FillReal<double>(ctx, distribution, generator, out);
      case DType::kHalf:
        return FillReal<Eigen::half>(ctx, distribution, generator, out);
      case DType::kBfloat16:
        return FillReal<Eigen::bfloat16>(ctx, distribution, generator, out);
      default:
        break;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no such random numbers of type ", DTypeName(out->dtype())));
}

SeededPhilox::SeededPhilox(const KernelBuild& build) : generator_(SeedFromAttrs(build)) {}

Philox SeededPhilox::Reserve(uint64_t blocks) {
  absl::MutexLock lock(&mu_);
  const Philox current = generator_;
  generator_.Skip(blocks);
  return current;
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

}  // namespace tessera
