// The transforms of Winograd's minimal filtering F(4x4, 3x3): a 4x4 tile of the output is made from
// a 6x6 tile of the input with 36 products a pair of channels, where sums of taps need 144.
// Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, arXiv:1509.09308.
//
// These are compiled for AVX-512 and must be called only where the machine has it. Numbers of
// channels are multiples of 16. Pure functions.
#pragma once

#include <cstdint>

#include "runtime/kernels/cpu/ending.h"

namespace tessera::winograd {

constexpr int kOutputTile = 4;
constexpr int kInputTile = 6;
constexpr int kPoints = kInputTile * kInputTile;

// One tile of the input, transformed. points[p] is the first channel of the tile's point p (row by
// row). Channel c of transformed point p goes to out[p * point_step + c].
void TransformInput(const float* const (&points)[kPoints], int64_t channels, int64_t point_step,
                    float* out);

// One tile of the output, clamped, from products at in[p * point_step + c]. points[i] is the first
// channel of the tile's output i (row by row), null where the tile reaches beyond the output.
void TransformOutput(const float* in, int64_t point_step, int64_t channels, const Ending& ending,
                     float* const (&points)[kOutputTile * kOutputTile]);

// The 3x3 filter [3, 3, in, out] as 36 matrices [36, in, out].
void TransformFilter(const float* filter, int64_t in_channels, int64_t out_channels, float* out);

}  // namespace tessera::winograd
