#include "runtime/kernels/primitives/random_fill.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {
namespace {

// The cost of a number in nanoseconds.
constexpr double kCost = 15;

// Fills `out` in groups of numbers that `make(group, out)` computes. The last group may be cut off.
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

// Fills `out` with one block of the generator for each group.
template <typename T, typename D>
void FillBlocks(KernelContext& ctx, const Philox& generator, const D& distribution, Tensor* out) {
  FillGroups<T>(ctx, out, [&](int64_t group, T* numbers) {
    Philox own = generator;
    own.Skip(group);
    distribution(own.Next(), numbers);
  });
}

// The number of blocks that are computed together, in loops that the compiler vectorises.
constexpr int kBlocks = 16;
struct Blocks {
  uint32_t words[Philox::kBlockSize][kBlocks];
};

[[gnu::always_inline]] inline Blocks NextBlocks(const Philox& generator) {
  Blocks blocks;
  auto& [c0, c1, c2, c3] = blocks.words;
  for (int i = 0; i < kBlocks; ++i) {
    Philox own = generator;
    own.Skip(i);
    c0[i] = static_cast<uint32_t>(own.counter_low());
    c1[i] = static_cast<uint32_t>(own.counter_low() >> 32);
    c2[i] = static_cast<uint32_t>(own.counter_high());
    c3[i] = static_cast<uint32_t>(own.counter_high() >> 32);
  }
  Philox::RoundKeys keys(generator.key());
  for (int round = 0; round < Philox::kRounds; ++round, keys.Next()) {
    for (int i = 0; i < kBlocks; ++i) Philox::Round(keys, &c0[i], &c1[i], &c2[i], &c3[i]);
  }
  return blocks;
}

[[gnu::always_inline]] inline void UniformFloats(const Philox& generator, float* out) {
  const Blocks blocks = NextBlocks(generator);
  for (int i = 0; i < kBlocks; ++i) {
    for (int w = 0; w < 4; ++w) out[4 * i + w] = UnitFloat(blocks.words[w][i]);
  }
}

void Uniform(const Philox& generator, float* out) { UniformFloats(generator, out); }
TESSERA_AVX512 void WideUniform(const Philox& generator, float* out) {
  UniformFloats(generator, out);
}

// Only the bits are computed in vectors. The logarithm, sine and cosine are the scalar functions of
// the C library.
[[gnu::always_inline]] inline void NormalFloats(const Philox& generator, float* out) {
  const Blocks blocks = NextBlocks(generator);
  const auto& [x0, x1, x2, x3] = blocks.words;
  for (int i = 0; i < kBlocks; ++i) Normal<float>()({x0[i], x1[i], x2[i], x3[i]}, out + 4 * i);
}

void Normals(const Philox& generator, float* out) { NormalFloats(generator, out); }
TESSERA_AVX512 void WideNormals(const Philox& generator, float* out) {
  NormalFloats(generator, out);
}

// Fills `out` with the floats that `make` computes from kBlocks blocks. A float takes `cost`
// nanoseconds. The last floats may be cut off.
void FillFloats(KernelContext& ctx, const Philox& generator, double cost,
                void (*make)(const Philox& generator, float* out), Tensor* out) {
  constexpr int64_t kFloats = 4 * kBlocks;
  float* const data = out->data<float>();
  const int64_t count = out->num_elements();
  const int64_t chunks = (count + kFloats - 1) / kFloats;
  ctx.ParallelFor(chunks, cost * kFloats, [&](int64_t begin, int64_t end) {
    float floats[kFloats];
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      Philox own = generator;
      own.Skip(chunk * kBlocks);
      make(own, floats);
      const int64_t first = chunk * kFloats;
      std::copy_n(floats, std::min(kFloats, count - first), data + first);
    }
  });
}

template <typename T>
absl::Status FillReal(KernelContext& ctx, Distribution distribution, const Philox& generator,
                      Tensor* out) {
  if constexpr (std::is_same_v<T, float>) {
    if (distribution == Distribution::kUniform) {
      FillFloats(ctx, generator, 2, HasAvx512() ? WideUniform : Uniform, out);
      return absl::OkStatus();
    }
    if (distribution == Distribution::kNormal) {
      FillFloats(ctx, generator, kCost, HasAvx512() ? WideNormals : Normals, out);
      return absl::OkStatus();
    }
  }
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
                     const IntegerRange& integers, Tensor* out) {
  if (distribution == Distribution::kFullInt) {
    FillBlocks<T>(ctx, generator, FullInt<T>(), out);
  } else {
    using U = std::make_unsigned_t<T>;
    const UniformInt<T> uniform{static_cast<T>(integers.low), static_cast<U>(integers.range)};
    FillBlocks<T>(ctx, generator, uniform, out);
  }
  return absl::OkStatus();
}

absl::Status RunRandomFill(KernelContext& ctx, Distribution distribution,
                           const PhiloxSource& source, const IntegerRange& integers, Tensor* out) {
  const Philox generator = GeneratorOf(source);
  if (distribution == Distribution::kUniformInt || distribution == Distribution::kFullInt) {
    switch (out->dtype()) {
      case DType::kInt32:
        return FillInt<int32_t>(ctx, distribution, generator, integers, out);
      case DType::kInt64:
        return FillInt<int64_t>(ctx, distribution, generator, integers, out);
      case DType::kUint32:
        return FillInt<uint32_t>(ctx, distribution, generator, integers, out);
      case DType::kUint64:
        return FillInt<uint64_t>(ctx, distribution, generator, integers, out);
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
REGISTER_PRIMITIVE(RandomFill, kCpu, RunRandomFill);

}  // namespace
}  // namespace tessera
