// The transforms of Winograd's minimal filtering F(m x m, 3x3): a tile of m x m outputs is made
// from one of (m + 2) x (m + 2) inputs with one product a point of it and pair of channels: 36 for
// m = 4, where sums of taps need 144, and 16 for m = 2, where they need 36. Source: Lavin and Gray,
// Fast Algorithms for Convolutional Neural Networks, arXiv:1509.09308.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/ending.h"

namespace tessera::winograd {

// Points of the largest tile.
constexpr int kMostPoints = 36;

// The transforms for one m. These are compiled for AVX-512 and must be called only where the
// machine has it. Numbers of channels are multiples of 16. Pure functions.
struct Transforms {
  int output_tile, input_tile;
  int points() const { return input_tile * input_tile; }

  // One tile of the input, transformed. points[p] is the first channel of the tile's point p (row
  // by row). Channel c of transformed point p goes to out[p * point_step + c].
  void (*input)(const float* const* points, int64_t channels, int64_t point_step, float* out);

  // One tile of the output, clamped, from products at in[p * point_step + c]. points[i] is the
  // first channel of the tile's output i (row by row), null where the tile reaches beyond the
  // output. False, and nothing is written, if products are infinite or NaN: an input of the tile
  // is, or is too large, and the transforms would spread it over all outputs. The first 16 channels
  // are looked at, for such an input is a factor of them all.
  bool (*output)(const float* in, int64_t point_step, int64_t channels, const Ending& ending,
                 float* const* points);

  // Transformed point `point` of the 3x3 filter [3, 3, in, out], as a matrix [in, out].
  void (*filter)(const float* filter, int point, int64_t in_channels, int64_t out_channels,
                 float* out);
};

extern const Transforms kTransformsOf2, kTransformsOf4;

}  // namespace tessera::winograd
