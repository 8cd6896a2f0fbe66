// Random numbers: RandomFill, Multinomial, KeyOfSeeds and AdvanceGenerator. Each thread makes the
// numbers of one block of bits.
#include "runtime/kernels/primitives/advance_generator.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/key_of_seeds.h"
#include "runtime/kernels/primitives/multinomial.h"
#include "runtime/kernels/primitives/random_distributions.h"
#include "runtime/kernels/primitives/random_fill.h"

namespace tessera::cuda {
namespace {

// A PhiloxSource as a parameter of kernels.
struct DeviceGenerator {
  Philox known;
  const uint64_t* key = nullptr;  // null for a known generator
  const uint64_t* counter = nullptr;

  explicit DeviceGenerator(const PhiloxSource& source)
      : known(source.is_on_device() ? Philox(0) : source.generator()) {
    if (!source.is_on_device()) return;
    key = DataOf<const uint64_t>(source.key());
    counter = DataOf<const uint64_t>(source.counter());
  }
  __device__ Philox Get() const {
    return key == nullptr ? known : Philox(key[0], counter[0], counter[1]);
  }
};

template <typename D, typename T>
__device__ void MakeGroup(const D& distribution, Philox generator, int64_t group, T* numbers) {
  if constexpr (std::is_invocable_v<D, const Philox&, T*>) {
    generator.Skip(group * D::kReserved);
    distribution(generator, numbers);
  } else {
    generator.Skip(group);
    distribution(generator.Next(), numbers);
  }
}

// Uniform numbers of half and bfloat16, as floats: they have fewer bits than those of float.
struct UniformNarrow {
  DType dtype;
  TESSERA_DEVICE_FUNCTION void operator()(const Philox::Block& x, float* out) const {
    for (int i = 0; i < 4; ++i)
      out[i] = dtype == DType::kHalf ? UnitHalf(x[i]) : UnitBfloat16(x[i]);
  }
};

// T is what the distribution makes, A the compute type of what is stored.
template <typename T, typename A, typename D>
__global__ void FillRandom(int64_t count, D distribution, DeviceGenerator source, Output<A> out) {
  constexpr int kGroup = kPerBlock<T>;
  const Philox generator = source.Get();
  for (int64_t g = FirstItem(); g * kGroup < count; g += ItemStep()) {
    T numbers[kGroup];
    MakeGroup(distribution, generator, g, numbers);
    for (int i = 0; i < kGroup && g * kGroup + i < count; ++i) {
      out.Set(g * kGroup + i, static_cast<A>(numbers[i]));
    }
  }
}

template <typename T, typename A, typename D>
absl::Status Fill(KernelContext& ctx, const D& distribution, const PhiloxSource& generator,
                  Tensor* out) {
  const int64_t count = out->num_elements();
  return LaunchItems(ctx, (count + kPerBlock<T> - 1) / kPerBlock<T>, FillRandom<T, A, D>, count,
                     distribution, DeviceGenerator(generator), Output<A>(out));
}

template <typename T>
absl::Status FillReal(KernelContext& ctx, Distribution distribution, const PhiloxSource& generator,
                      Tensor* out) {
  switch (distribution) {
    case Distribution::kUniform:
      if (Contains(kNarrowFloat, out->dtype())) {
        return Fill<float, float>(ctx, UniformNarrow{out->dtype()}, generator, out);
      }
      return Fill<T, T>(ctx, UniformReal<T>(), generator, out);
    case Distribution::kNormal:
      return Fill<T, T>(ctx, Normal<T>(), generator, out);
    default:
      return Fill<T, T>(ctx, TruncatedNormal<T>(), generator, out);
  }
}

// U is the unsigned type of the same size: signed integers are the same bits.
template <typename U, typename A>
absl::Status FillInt(KernelContext& ctx, Distribution distribution, const PhiloxSource& generator,
                     const IntegerRange& integers, Tensor* out) {
  if (distribution == Distribution::kFullInt) {
    return Fill<U, A>(ctx, FullInt<U>(), generator, out);
  }
  const UniformInt<U> uniform{static_cast<U>(integers.low), static_cast<U>(integers.range)};
  return Fill<U, A>(ctx, uniform, generator, out);
}

absl::Status RunRandomFill(KernelContext& ctx, Distribution distribution,
                           const PhiloxSource& generator, const IntegerRange& integers,
                           Tensor* out) {
  if (distribution == Distribution::kUniformInt || distribution == Distribution::kFullInt) {
    switch (out->dtype()) {
      case DType::kInt32:
      case DType::kUint32:
        return FillInt<uint32_t, int64_t>(ctx, distribution, generator, integers, out);
      case DType::kInt64:
        return FillInt<uint64_t, int64_t>(ctx, distribution, generator, integers, out);
      case DType::kUint64:
        return FillInt<uint64_t, uint64_t>(ctx, distribution, generator, integers, out);
      default:
        break;
    }
  } else {
    switch (out->dtype()) {
      case DType::kFloat:
      case DType::kHalf:
      case DType::kBfloat16:
        return FillReal<float>(ctx, distribution, generator, out);
      case DType::kDouble:
        return FillReal<double>(ctx, distribution, generator, out);
      default:
        break;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no such random numbers of type ", DTypeName(out->dtype())));
}
REGISTER_CUDA_PRIMITIVE(RandomFill, RunRandomFill);

// The running totals of a row are made by one thread, one after the other, so that the draws are
// those of the CPU.
template <typename A>
__global__ void SumLikelihoods(int64_t rows, int64_t classes, Input<A> logits, double* totals) {
  for (int64_t row = FirstItem(); row < rows; row += ItemStep()) {
    double max = -INFINITY;
    for (int64_t c = 0; c < classes; ++c) {
      const double logit = static_cast<double>(logits[row * classes + c]);
      if (std::abs(logit) < INFINITY && logit > max) max = logit;
    }
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double logit = static_cast<double>(logits[row * classes + c]);
      if (std::abs(logit) < INFINITY) total += std::exp(logit - max);
      totals[row * classes + c] = total;
    }
  }
}

__global__ void DrawClasses(int64_t count, int64_t draws, int64_t classes, DeviceGenerator source,
                            const double* totals, Output<int64_t> samples) {
  const Philox generator = source.Get();
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    Philox own = generator;
    own.Skip(i / 2);
    const Philox::Block bits = own.Next();
    const int first = i % 2 * 2;
    const double* const row = totals + i / draws * classes;
    const double target = UnitDouble(bits[first], bits[first + 1]) * row[classes - 1];
    // The first total above the target.
    int64_t begin = 0, end = classes;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (target < row[middle]) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    samples.Set(i, begin);
  }
}

absl::Status RunMultinomial(KernelContext& ctx, const PhiloxSource& generator, const Tensor& logits,
                            Tensor* samples) {
  const int64_t count = samples->num_elements();
  if (count == 0) return absl::OkStatus();
  const int64_t rows = logits.dim(0), classes = logits.dim(1);
  ASSIGN_OR_RETURN(Tensor totals, ctx.AllocateTemp(DType::kDouble, Shape{rows, classes}));
  RETURN_IF_ERROR(VisitComputeType<kReal>(logits.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, rows, SumLikelihoods<A>, rows, classes, Input<A>(logits),
                       DataOf<double>(totals));
  }));
  return LaunchItems(ctx, count, DrawClasses, count, samples->dim(1), classes,
                     DeviceGenerator(generator), DataOf<const double>(totals),
                     Output<int64_t>(samples));
}
REGISTER_CUDA_PRIMITIVE(Multinomial, RunMultinomial);

// One thread.
__global__ void MakeKey(Indices seeds, uint64_t* key, uint64_t* counter) {
  if (FirstItem() > 0) return;
  const Philox generator =
      PhiloxOfSeeds(static_cast<uint64_t>(seeds[0]), static_cast<uint64_t>(seeds[1]));
  key[0] = generator.key();
  counter[0] = generator.counter_low();
  counter[1] = generator.counter_high();
}

absl::Status RunKeyOfSeeds(KernelContext& ctx, const Tensor& seeds, Tensor* key, Tensor* counter) {
  return LaunchItems(ctx, 1, MakeKey, Indices(seeds), DataOf<uint64_t>(*key),
                     DataOf<uint64_t>(*counter));
}
REGISTER_CUDA_PRIMITIVE(KeyOfSeeds, RunKeyOfSeeds);

// One thread.
__global__ void Advance(uint64_t blocks, int64_t* state, int64_t* before) {
  if (FirstItem() > 0) return;
  StoreState(AdvanceState(state, blocks), before);
}

absl::Status RunAdvanceGenerator(KernelContext& ctx, uint64_t blocks, Tensor* state,
                                 Tensor* before) {
  return LaunchItems(ctx, 1, Advance, blocks, DataOf<int64_t>(*state), DataOf<int64_t>(*before));
}
REGISTER_CUDA_PRIMITIVE(AdvanceGenerator, RunAdvanceGenerator);

}  // namespace
}  // namespace tessera::cuda
