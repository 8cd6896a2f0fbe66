// What happens to a sum before it is stored, for loops of our own.
#pragma once

#include <cstdint>

namespace tessera {

// out = activate(clamp(sum + bias[column] + (add ? out : 0), low, high)).
struct Ending {
  const float* bias = nullptr;  // null: none
  bool add = false;
  float low = 0, high = 0;  // infinite where nothing is clamped; a NaN passes
  // Replaces `count` values by their activations; null where clamping is all there is.
  void (*activate)(float alpha, float* values, int64_t count) = nullptr;
  float alpha = 0;
};

}  // namespace tessera
