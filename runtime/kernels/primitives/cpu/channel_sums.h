// Sums over all points of each channel.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/batch_norm.h"

namespace tessera {

// Adds up `term(i, c)`, a std::array<double, kSums>, over the elements i of each channel c. Returns
// kSums vectors of `channels` sums, one behind the other. The order of the additions depends on the
// shape only, not on the number of threads. `term` is called on several threads at once.
template <int kSums, typename Term>
std::vector<double> SumChannels(KernelContext& ctx, const ChannelShape& shape, const Term& term) {
  constexpr int64_t kBlockElements = 16 << 10, kLanes = 8;
  const int64_t channels = shape.channels, inner = shape.inner;
  const int64_t size = kSums * channels;
  const int64_t row = std::max<int64_t>(channels * inner, 1);
  const int64_t rows = std::max<int64_t>(kBlockElements / row, 1);
  const int64_t blocks = (shape.outer + rows - 1) / rows;
  std::vector<double> partial(blocks * size, 0);
  const auto add_points = [&](int64_t begin, int64_t end, double* __restrict sums) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; c < channels; ++c) {
        const std::array<double, kSums> terms = term(o * channels + c, c);
        for (int s = 0; s < kSums; ++s) sums[s * channels + c] += terms[s];
      }
    }
  };
  const auto add_images = [&](int64_t begin, int64_t end, double* __restrict sums) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t start = (o * channels + c) * inner;
        double lanes[kSums][kLanes] = {};
        for (int64_t i = 0; i < inner; i += kLanes) {
          const int64_t count = std::min(kLanes, inner - i);
          for (int64_t lane = 0; lane < count; ++lane) {
            const std::array<double, kSums> terms = term(start + i + lane, c);
            for (int s = 0; s < kSums; ++s) lanes[s][lane] += terms[s];
          }
        }
        for (int s = 0; s < kSums; ++s) {
          for (const double sum : lanes[s]) sums[s * channels + c] += sum;
        }
      }
    }
  };
  ctx.ParallelFor(blocks, 0.5 * rows * row, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      double* const sums = partial.data() + block * size;
      const int64_t last = std::min(shape.outer, (block + 1) * rows);
      if (inner == 1) {
        add_points(block * rows, last, sums);
      } else {
        add_images(block * rows, last, sums);
      }
    }
  });
  std::vector<double> sums(size, 0);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < size; ++i) sums[i] += partial[block * size + i];
  }
  return sums;
}

}  // namespace tessera
