// Launching kernels on the stream of a kernel context.
//
//   __global__ void Scale(int64_t count, float factor, float* x) {
//     for (int64_t i = FirstItem(); i < count; i += ItemStep()) x[i] *= factor;
//   }
//   ...
//   return LaunchItems(ctx, count, Scale, count, factor, x->data<float>());
//
// Included by .cu files alone. Those are compiled by nvcc for devices of type "GPU" or, with
// TESSERA_EMULATED_CUDA, by the host's compiler for "EMULATED_GPU": see testing/emulation.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"

// The emulation is included before anything else, by the compiler's command line.
#ifndef TESSERA_EMULATED_CUDA
#include <cuda_runtime.h>

#include "runtime/device/cuda/cuda_stream.h"
#endif

namespace tessera::cuda {

inline constexpr int kWarpThreads = 32;
inline constexpr int kBlockThreads = 256;
// Enough blocks to fill every GPU several times; kernels loop over what is left.
inline constexpr int64_t kMaxBlocks = 8192;

// Loops over items: each thread takes every ItemStep()-th one.
__device__ inline int64_t FirstItem() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t ItemStep() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// How the threads of a grid share the rows of a matrix: a warp takes a short row, a block a long
// one. For kernels launched by LaunchRows():
//
//   for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
//     float sum = 0;
//     for (int64_t c = rows.Lane(); c < columns; c += rows.threads) sum += x[row * columns + c];
//     sum = rows.Reduce(sum, [](float a, float b) { return a + b; });
//   }
struct Rows {
  int64_t count;
  int threads;  // of a row: kWarpThreads or kBlockThreads

  __device__ int64_t First() const {
    return static_cast<int64_t>(blockIdx.x) * (kBlockThreads / threads) + threadIdx.x / threads;
  }
  __device__ int64_t Step() const {
    return static_cast<int64_t>(gridDim.x) * (kBlockThreads / threads);
  }
  __device__ int Lane() const { return threadIdx.x % threads; }

  // Returns, in every thread of the row, the merge of the values of all. The order is fixed. All
  // threads of the row must call it.
  template <typename T, typename Merge>
  __device__ T Reduce(T value, Merge merge) const;
};

namespace launch_internal {

// Shuffles a value of any size, word by word.
template <typename T>
__device__ T ShuffleXor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0);
  uint32_t words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
  for (uint32_t& word : words) word = __shfl_xor_sync(0xffffffffu, word, mask);
  memcpy(&value, words, sizeof(T));
  return value;
}

// One value of up to 16 bytes for each warp of a block, without constructors.
struct alignas(16) WarpValues {
  unsigned char bytes[16 * (kBlockThreads / kWarpThreads)];
};

template <typename T>
__device__ T ValueOfWarp(const WarpValues& values, int warp) {
  T value;
  memcpy(&value, values.bytes + 16 * warp, sizeof(T));
  return value;
}

}  // namespace launch_internal

template <typename T, typename Merge>
__device__ T Rows::Reduce(T value, Merge merge) const {
  for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) {
    value = merge(value, launch_internal::ShuffleXor(value, mask));
  }
  if (threads == kWarpThreads) return value;
  static_assert(sizeof(T) <= 16);
  __shared__ launch_internal::WarpValues values;
  if (threadIdx.x % kWarpThreads == 0) {
    memcpy(values.bytes + 16 * (threadIdx.x / kWarpThreads), &value, sizeof(T));
  }
  __syncthreads();
  T result = launch_internal::ValueOfWarp<T>(values, 0);
  for (int warp = 1; warp < kBlockThreads / kWarpThreads; ++warp) {
    result = merge(result, launch_internal::ValueOfWarp<T>(values, warp));
  }
  __syncthreads();  // before the next reduction writes
  return result;
}

enum class Threads { kIndependent, kCooperating };

// Launches `blocks` blocks of kBlockThreads threads. Errors: those of CudaStream::CheckLaunch().
template <Threads kThreads = Threads::kCooperating, typename... Parameters, typename... Arguments>
absl::Status LaunchBlocks(KernelContext& ctx, int64_t blocks, void (*kernel)(Parameters...),
                          Arguments... arguments) {
  if (blocks <= 0) return absl::OkStatus();
  const unsigned grid = static_cast<unsigned>(std::min(blocks, kMaxBlocks));
#ifdef TESSERA_EMULATED_CUDA
  const auto body = [&] { kernel(arguments...); };
  if constexpr (kThreads == Threads::kIndependent) {
    emulation::LaunchIndependent(grid, kBlockThreads, body);
  } else {
    emulation::Launch(grid, kBlockThreads, body);
  }
  return absl::OkStatus();
#else
  CudaStream& stream = CudaStream::Of(ctx);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(kBlockThreads);
  config.stream = stream.cuda();
  cudaLaunchKernelEx(&config, kernel, arguments...);
  return stream.CheckLaunch("a kernel");
#endif
}

// Launches threads for `count` items, which do not wait for each other.
template <typename... Parameters, typename... Arguments>
absl::Status LaunchItems(KernelContext& ctx, int64_t count, void (*kernel)(Parameters...),
                         Arguments... arguments) {
  return LaunchBlocks<Threads::kIndependent>(ctx, (count + kBlockThreads - 1) / kBlockThreads,
                                             kernel, arguments...);
}

// Launches threads for `rows` rows of `columns` elements each. The kernel's first parameter is
// Rows.
template <typename... Parameters, typename... Arguments>
absl::Status LaunchRows(KernelContext& ctx, int64_t rows, int64_t columns,
                        void (*kernel)(Parameters...), Arguments... arguments) {
  const Rows shared{rows, columns <= 1024 ? kWarpThreads : kBlockThreads};
  const int64_t rows_per_block = kBlockThreads / shared.threads;
  return LaunchBlocks(ctx, (rows + rows_per_block - 1) / rows_per_block, kernel, shared,
                      arguments...);
}

// Returns a copy of `values` in memory of the device, for kernels that are launched after this.
template <typename T>
absl::StatusOr<Tensor> Upload(KernelContext& ctx, absl::Span<const T> values) {
  const int64_t count = static_cast<int64_t>(values.size());
  ASSIGN_OR_RETURN(Tensor host, ctx.AllocateTemp(DTypeOf<T>, Shape{count}, MemoryKind::kPinned));
  std::copy(values.begin(), values.end(), host.template data<T>());
  if (ctx.stream() == nullptr) return host;
  ASSIGN_OR_RETURN(Tensor device, ctx.AllocateTemp(DTypeOf<T>, Shape{count}));
  ctx.stream()->Copy(host, &device);
  return device;
}

}  // namespace tessera::cuda
