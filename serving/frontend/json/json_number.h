// Numbers as TensorFlow Serving's JSON spells them.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// The space that a number is written in.
inline constexpr int kMaxJsonNumber = 40;

// Writes a number at `out`, which has kMaxJsonNumber bytes, and returns the end of it. What is
// behind that may be written over.
//
// Floating point has six significant digits if they read back as the same value, else nine (float)
// or seventeen (double), and looks as printf's %g has it, with ".0" after what would be read as an
// integer: 0.1, 9e+06, 0.333333343, 16777216.0. Not finite: NaN, Infinity, -Infinity, which is no
// legal JSON but what clients of this API read.
char* WriteJsonNumber(float value, char* out);
char* WriteJsonNumber(double value, char* out);
char* WriteJsonNumber(int64_t value, char* out);
char* WriteJsonNumber(uint64_t value, char* out);

template <typename T>
requires std::is_integral_v<T>
char* WriteJsonNumber(T value, char* out) {
  if constexpr (std::is_signed_v<T>) {
    return WriteJsonNumber(int64_t{value}, out);
  } else {
    return WriteJsonNumber(uint64_t{value}, out);
  }
}

template <typename T>
std::string JsonNumber(T value) {
  char text[kMaxJsonNumber];
  return std::string(text, WriteJsonNumber(value, text));
}

}  // namespace tessera::serving
