// The functors of reductions and the maps from random bits to numbers, as implementations for GPUs
// call them: shows that nvcc compiles them, and, where there is a GPU, that they give there what
// they give on the host. Prints what differs. Exits with 77 if there is no GPU.
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "runtime/kernels/primitives/random_distributions.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera {
namespace {

constexpr int kNoGpu = 77;
constexpr int kCount = 64;

// The reduction of `count` elements in halves, which are merged.
template <typename R, typename T>
TESSERA_DEVICE_FUNCTION T ReduceAll(const T* x, int count) {
  const R reducer{};
  T halves[2] = {R::template Neutral<T>(), R::template Neutral<T>()};
  for (int i = 0; i < count; ++i) {
    T& half = halves[2 * i < count ? 0 : 1];
    half = reducer.Add(half, x[i]);
  }
  return reducer.Result(reducer.Merge(halves[0], halves[1]), static_cast<int64_t>(count));
}

template <typename R, typename T>
struct Reduction {
  using Result = T;
  TESSERA_DEVICE_FUNCTION void operator()(int i, T* result) const {
    T x[8];
    for (int k = 0; k < 8; ++k) x[k] = static_cast<T>(1 + (i + k) % 3);
    *result = ReduceAll<R, T>(x, 8);
  }
};

// The first number of block i.
template <typename Distribution, typename T>
struct Draw {
  using Result = T;
  TESSERA_DEVICE_FUNCTION void operator()(int i, T* result) const {
    Philox generator(87654321, 12345);
    generator.Skip(static_cast<uint64_t>(i));
    T numbers[kPerBlock<T>];
    if constexpr (requires { distribution(generator, numbers); }) {
      distribution(generator, numbers);
    } else {
      distribution(generator.Next(), numbers);
    }
    *result = numbers[0];
  }
  Distribution distribution;
};

template <typename F>
__global__ void GridLoop(F f, typename F::Result* result) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kCount; i += gridDim.x * blockDim.x) {
    f(i, &result[i]);
  }
}

// Returns the number of elements that differ, by more than the last bits of a logarithm or sine.
template <typename F>
int Differences(const char* name, F f = {}) {
  using T = typename F::Result;
  T* on_gpu = nullptr;
  if (cudaMallocManaged(&on_gpu, kCount * sizeof(T)) != cudaSuccess) return 1;
  GridLoop<<<2, 32>>>(f, on_gpu);
  int differences = cudaDeviceSynchronize() == cudaSuccess ? 0 : kCount;
  for (int i = 0; differences == 0 && i < kCount; ++i) {
    T on_host;
    f(i, &on_host);
    const double host = static_cast<double>(on_host), gpu = static_cast<double>(on_gpu[i]);
    if (std::abs(gpu - host) > 1e-5 * std::abs(host)) ++differences;
  }
  cudaFree(on_gpu);
  if (differences != 0) std::printf("%s: %d differ\n", name, differences);
  return differences;
}

template <typename T>
int OfRealType() {
  return Differences<Reduction<reduce::Sum, T>>("Sum") +
         Differences<Reduction<reduce::Mean, T>>("Mean") +
         Differences<Reduction<reduce::EuclideanNorm, T>>("EuclideanNorm") +
         Differences<Reduction<reduce::Prod, T>>("Prod") +
         Differences<Reduction<reduce::Max, T>>("Max") +
         Differences<Reduction<reduce::Min, T>>("Min");
}

template <typename T>
int OfFloatingType() {
  return OfRealType<T>() + Differences<Reduction<reduce::LogSumExp, T>>("LogSumExp") +
         Differences<Reduction<reduce::HalfSumOfSquares, T>>("HalfSumOfSquares") +
         Differences<Draw<UniformReal<T>, T>>("UniformReal") +
         Differences<Draw<Normal<T>, T>>("Normal") +
         Differences<Draw<TruncatedNormal<T>, T>>("TruncatedNormal");
}

int Main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return kNoGpu;
  const int differences =
      OfFloatingType<float>() + OfFloatingType<double>() + OfRealType<int32_t>() +
      OfRealType<int64_t>() + Differences<Reduction<reduce::All, bool>>("All") +
      Differences<Reduction<reduce::Any, bool>>("Any") +
      Differences<Draw<FullInt<uint32_t>, uint32_t>>("FullInt") +
      Differences<Draw<UniformInt<int32_t>, int32_t>>("UniformInt", {{-5, 11}}) +
      Differences<Draw<UniformInt<int64_t>, int64_t>>("UniformInt", {{-5, 11}});
  return differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main() { return tessera::Main(); }
