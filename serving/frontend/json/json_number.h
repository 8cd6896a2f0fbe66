// Writes numbers as TensorFlow Serving's JSON does.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// Bytes of the buffer that a number is written to.
inline constexpr int kMaxJsonNumber = 40;

// Writes a number at `out`, which has kMaxJsonNumber bytes, and returns its end. The bytes after
// the end may be overwritten.
//
// A floating-point number has six significant digits if they read back as the same value, else nine
// (float) or seventeen (double). It is printed as by printf's %g, with ".0" appended if it would be
// read as an integer: 0.1, 9e+06, 0.333333343, 16777216.0. Numbers that are not finite are NaN,
// Infinity and -Infinity, which are no legal JSON but are what clients of this API read.
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
