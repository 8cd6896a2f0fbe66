// Numbers of distributions that are drawn by rejection: gamma, Poisson, binomial. Each number has a
// generator of its own, which starts a fixed number of blocks after that of the number before, so
// that threads can start anywhere.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/philox.h"

namespace tessera {

// Blocks set aside for a gamma or Poisson number, and for a binomial one.
inline constexpr uint64_t kBlocksPerNumber = 256;
uint64_t BlocksPerBinomial(double count, double p);

// All draw from `generator`, as TensorFlow does.

// A gamma distributed number with unit scale. `alpha` that is not positive gives NaN.
double DrawGamma(double alpha, const Philox& generator);

// A Poisson distributed number of at most `largest`. An infinite rate gives infinity, NaN gives
// NaN.
double DrawPoisson(double rate, double largest, const Philox& generator);

// How many of `count` trials succeed, each with probability `p`; `p` outside [0, 1] counts as 0
// or 1. NaN or an infinite count give NaN.
double DrawBinomial(double count, double p, const Philox& generator);

}  // namespace tessera
