// Interpolation of rows of bytes along the width, for Resample.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/kernels/primitives/resample.h"

namespace tessera {

// Converts rows of bytes to floats and interpolates them between two taps, eight floats at a time:
// the bytes that four neighbouring floats need lie in a window of 16, from which one instruction
// picks them. The result is first + (second - first) * weight of the second, rounded three times.
//
//   ByteColumns blender(columns, width, channels);
//   if (blender.is_possible()) blender.Blend(row, to);
class ByteColumns {
 public:
  // Requires taps with a span of 2, for rows of `width` pixels.
  ByteColumns(const ResampleTaps& columns, int64_t width, int64_t channels);

  // False if four neighbouring floats need bytes that no window holds together, which happens where
  // an image becomes much smaller, or if a row is shorter than a window.
  bool is_possible() const { return is_possible_; }

  // The number of floats that Blend() writes: the floats of all columns, rounded up to whole
  // vectors.
  int64_t size() const { return static_cast<int64_t>(vectors_.size()) * kLanes; }

  // Requires is_possible(), and room for size() floats.
  void Blend(const uint8_t* row, float* to) const;

 private:
  static constexpr int kLanes = 8;    // floats of a vector
  static constexpr int kGroup = 4;    // floats of a window
  static constexpr int kWindow = 16;  // bytes
  static constexpr int kGroups = kLanes / kGroup;

  // The bytes from which one vector of floats is made.
  struct Vector {
    std::array<int32_t, kGroups> windows;  // where they begin in the row
    // A byte shuffle for each tap. For each float it selects the tap's byte in the window, and
    // three bytes that become zero.
    std::array<uint32_t, kLanes> first, second;
    std::array<float, kLanes> weights;
  };

  // Fills the part of a vector that holds the floats from number `begin` on. Returns false if no
  // window holds their bytes.
  static bool FillGroup(const ResampleTaps& columns, int64_t width, int64_t channels, int64_t begin,
                        int group, Vector* vector);

  std::vector<Vector> vectors_;
  bool is_possible_ = true;
};

}  // namespace tessera
