// Random permutations of rows: RandomShuffle, StatelessShuffle.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/random/philox_generator.h"

namespace tessera {
namespace {

// Puts elements in random order. Each place in turn gets one of those that are left, by a random
// number modulo their count. Numbers are drawn for several places ahead, which takes two thirds of
// the time of drawing each before its swap.
template <typename T>
void ShuffleInPlace(const Philox& generator, T* elements, int64_t count) {
  constexpr int64_t kSome = 64;
  PhiloxStream numbers(generator);
  int64_t chosen[kSome];
  for (int64_t first = 0; first + 1 < count; first += kSome) {
    const int64_t some = std::min(kSome, count - 1 - first);
    for (int64_t i = 0; i < some; ++i) {
      const int64_t place = first + i;
      chosen[i] = place + numbers.Next() % static_cast<uint32_t>(count - place);
    }
    for (int64_t i = 0; i < some; ++i) std::swap(elements[first + i], elements[chosen[i]]);
  }
}

// How many random numbers Shuffle() draws.
int64_t NumDrawn(const Tensor& rows) {
  return rows.rank() == 0 || rows.num_elements() == 0 ? 0 : rows.dim(0) - 1;
}

// Output 0: the rows of input 0 in random order.
absl::Status Shuffle(KernelContext& ctx, const Philox& generator) {
  const Tensor& rows = ctx.input(0);
  if (NumDrawn(rows) == 0) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  const int64_t count = rows.dim(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, rows.shape()));
  const int64_t columns = rows.num_elements() / count;
  VisitStorageType(rows.dtype(), [&]<typename T>() {
    const T* const from = reinterpret_cast<const T*>(rows.raw());
    T* const to = reinterpret_cast<T*>(out->mutable_raw());
    if (columns == 1) {
      std::copy_n(from, count, to);
      ShuffleInPlace(generator, to, count);
      return;
    }
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    ShuffleInPlace(generator, order.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(from + order[i] * columns, columns, to + i * columns);
    }
  });
  return absl::OkStatus();
}

class RandomShuffleKernel : public OpKernel {
 public:
  explicit RandomShuffleKernel(const KernelBuild& build) : generator_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const auto drawn = static_cast<uint64_t>(NumDrawn(ctx.input(0)));
    ASSIGN_OR_RETURN(const Philox generator, generator_.Reserve(ctx, (drawn + 3) / 4));
    return Shuffle(ctx, generator);
  }

 private:
  SeededPhilox generator_;
};
REGISTER_KERNEL("RandomShuffle", kCpu, RandomShuffleKernel);

class StatelessShuffleKernel : public OpKernel {
 public:
  explicit StatelessShuffleKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Philox generator,
                     GeneratorFromKey(ctx.input(1), ctx.input(2), ctx.input(3)));
    return Shuffle(ctx, generator);
  }
};
REGISTER_KERNEL("StatelessShuffle", kCpu, StatelessShuffleKernel).HostMemory("alg");

}  // namespace
}  // namespace tessera
