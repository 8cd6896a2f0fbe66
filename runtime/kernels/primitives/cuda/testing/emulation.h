// CUDA's kernel language on the host, as far as the kernels of this folder use it, so that their
// arithmetic and indexing are tested where there is no GPU. A .cu file that is compiled with
// TESSERA_EMULATED_CUDA by the host's compiler becomes an implementation for devices of type
// "EMULATED_GPU", whose memory is the host's.
//
//   __global__ void Halve(float* x) { x[threadIdx.x] /= 2; }
//   emulation::Launch(/*blocks=*/2, /*threads=*/256, [&] { Halve(x); });
//
// Blocks run one after the other, the threads of a block as fibers of one host thread: a fiber runs
// until it waits for its block or its warp. A missing barrier therefore shows as a wrong number,
// and a barrier that some threads of a block miss ends the program with a message. What no
// emulation shows: memory coalescing, launch limits, and races between blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/functional/function_ref.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One block runs at a time on a host thread.
#define __shared__ static thread_local

namespace tessera::emulation {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline thread_local Dim3 thread_index, block_index, block_dim, grid_dim;

inline constexpr int kWarpSize = 32;

// Runs `body` for each thread of `blocks` blocks. Threads may wait for each other.
void Launch(unsigned blocks, unsigned threads, absl::FunctionRef<void()> body);
// Runs threads that never wait, one after the other.
void LaunchIndependent(unsigned blocks, unsigned threads, absl::FunctionRef<void()> body);

// Launches since the program started, on all host threads.
int64_t NumLaunches();

// Waits until all threads of the block that have not returned are here.
void WaitForBlock();
// Gives `word` to the other threads of the warp, and returns that of `lane` of the warp.
uint32_t Shuffle(uint32_t word, int lane);

}  // namespace tessera::emulation

#define threadIdx ::tessera::emulation::thread_index
#define blockIdx ::tessera::emulation::block_index
#define blockDim ::tessera::emulation::block_dim
#define gridDim ::tessera::emulation::grid_dim

inline void __syncthreads() { ::tessera::emulation::WaitForBlock(); }

inline uint32_t __shfl_xor_sync(unsigned, uint32_t word, int mask) {
  const int lane = threadIdx.x % ::tessera::emulation::kWarpSize;
  return ::tessera::emulation::Shuffle(word, lane ^ mask);
}
inline uint32_t __shfl_up_sync(unsigned, uint32_t word, int delta) {
  const int lane = threadIdx.x % ::tessera::emulation::kWarpSize;
  return ::tessera::emulation::Shuffle(word, lane < delta ? lane : lane - delta);
}

// Atomics are plain here: a fiber gives way at barriers alone.
template <typename T>
T atomicAdd(T* to, T value) {
  const T old = *to;
  *to += value;
  return old;
}
template <typename T>
T atomicCAS(T* to, T expected, T value) {
  const T old = *to;
  if (old == expected) *to = value;
  return old;
}
