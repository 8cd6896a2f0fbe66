#include "runtime/kernels/primitives/cuda/testing/emulation.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::emulation {
namespace {

TEST(EmulationTest, ThreadsHaveTheirPlaces) {
  std::vector<int> visits(3 * 64);
  LaunchIndependent(3, 64, [&] { ++visits[blockIdx.x * blockDim.x + threadIdx.x]; });
  for (const int count : visits) EXPECT_EQ(count, 1);
}

TEST(EmulationTest, BarrierMakesWritesVisible) {
  std::vector<int> written(256), read(256);
  Launch(1, 256, [&] {
    written[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
    __syncthreads();
    read[threadIdx.x] = written[255 - threadIdx.x];
  });
  for (int t = 0; t < 256; ++t) EXPECT_EQ(read[t], 256 - t);
}

TEST(EmulationTest, MissingBarrierShows) {
  std::vector<int> written(256), read(256);
  Launch(1, 256, [&] {
    written[threadIdx.x] = 1;
    read[threadIdx.x] = written[255 - threadIdx.x];
  });
  EXPECT_EQ(read[0], 0);
}

TEST(EmulationTest, ShufflesExchangeWithinWarps) {
  std::vector<uint32_t> sums(64);
  Launch(1, 64, [&] {
    uint32_t sum = threadIdx.x;
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
    sums[threadIdx.x] = sum;
  });
  for (int t = 0; t < 64; ++t) EXPECT_EQ(sums[t], t < 32 ? 496 : 496 + 32 * 32);
}

TEST(EmulationDeathTest, BarrierThatSomeThreadsMissEndsTheProgram) {
  const auto diverge = [] {
    if (threadIdx.x == 0) {
      __syncthreads();
    } else {
      __shfl_xor_sync(~0u, 0u, 1);
    }
  };
  EXPECT_DEATH(Launch(1, 32, diverge), "barrier that others miss");
}

}  // namespace
}  // namespace tessera::emulation
