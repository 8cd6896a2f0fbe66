// The epilogue of a GEMM or convolution: what happens to an accumulated sum before it is stored.
#pragma once

#include <cstdint>

namespace tessera {

// out = activate(clamp(sum + bias[column] + (add ? out : 0), low, high)).
struct Epilogue {
  const float* bias = nullptr;  // null if there is no bias
  bool add = false;
  float low = 0, high = 0;  // infinite when there is no clamp; NaN passes through
  // Replaces `count` values by their activations. Null when the activation is a clamp, or none.
  void (*activate)(float alpha, float* values, int64_t count) = nullptr;
  float alpha = 0;
};

}  // namespace tessera
