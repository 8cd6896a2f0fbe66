// The transforms of Winograd's minimal filtering F(m x m, 3x3). A tile of m x m outputs is computed
// from a tile of (m + 2) x (m + 2) inputs with one product for each input point and pair of
// channels: 36 products for m = 4, where a direct sum needs 144, and 16 for m = 2, where it needs
// 36. Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// arXiv:1509.09308.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/epilogue.h"

namespace tessera::winograd {

// Points of the largest tile.
constexpr int kMaxPoints = 36;

// The transforms for one m. Numbers of channels must be multiples of 16. Pure functions.
struct Transforms {
  int output_tile, input_tile;
  int points() const { return input_tile * input_tile; }

  // Transforms one tile of the input. points[p] is the first channel of point p of the tile (row by
  // row). Channel c of the transformed point p is stored at out[p * point_stride + c].
  void (*input)(const float* const* points, int64_t channels, int64_t point_stride, float* out);

  // Transforms one tile back and clamps it. The products are at in[p * point_stride + c]. points[i]
  // is the first channel of output i of the tile (row by row), or null where the tile reaches
  // beyond the output. Returns false and writes nothing if products are infinite or NaN, because an
  // input of the tile is infinite or NaN, or a product overflowed: the transforms would spread this
  // value over all outputs. Only the first 16 channels are checked, since such an input is a factor
  // of all channels.
  bool (*output)(const float* in, int64_t point_stride, int64_t channels, const Epilogue& epilogue,
                 float* const* points);

  // Computes point `point` of the transform of the 3x3 filter [3, 3, in, out], a matrix [in, out].
  void (*filter)(const float* filter, int point, int64_t in_channels, int64_t out_channels,
                 float* out);
};

// Compiled for AVX-512, and for what every processor here has.
namespace avx512 {
extern const Transforms kTransformsOf2, kTransformsOf4;
}
namespace avx2 {
extern const Transforms kTransformsOf2, kTransformsOf4;
}

// Returns the transforms for tiles of output_tile x output_tile outputs, where output_tile is 2 or
// 4, by the instruction set of SpeedsForCpu().
const Transforms& TransformsForCpu(int output_tile);

}  // namespace tessera::winograd
