// The patches of images of bytes under a filter, as rows of a matrix product.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/primitives/byte_gemm.h"
#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

// T is int8_t or uint8_t. Refers to its arguments. Thread-safe.
template <typename T>
class BytePatches {
 public:
  BytePatches(const ConvolutionShape& shape, const T* images) : shape_(shape), images_(images) {}

  int64_t positions() const { return shape_.filter[0] * shape_.filter[1]; }
  int64_t channels() const { return shape_.in_channels; }
  // The bytes of a patch.
  int64_t size() const { return positions() * shape_.in_channels; }

  // Copies the patch of output pixel `i` as unsigned bytes, which are 0 where it lies outside of
  // the image. Returns the sum of the bytes. Calls outside(position) for the filter's positions
  // there.
  template <typename Outside>
  uint32_t Copy(int64_t i, uint8_t* to, const Outside& outside) const {
    const ConvolutionShape& s = shape_;
    const int64_t column = i % s.output[1], row = i / s.output[1] % s.output[0];
    const T* const image =
        images_ + i / s.output[1] / s.output[0] * s.input[0] * s.input[1] * s.in_channels;
    uint32_t sum = 0;
    for (int64_t v = 0; v < s.filter[0]; ++v) {
      const int64_t y = row * s.strides[0] - s.pad_before[0] + v * s.dilations[0];
      const int64_t left = column * s.strides[1] - s.pad_before[1];
      const bool is_row = y >= 0 && y < s.input[0];
      if (is_row && s.dilations[1] == 1 && left >= 0 && left + s.filter[1] <= s.input[1]) {
        const int64_t count = s.filter[1] * s.in_channels;
        sum += CopyUnsigned(image + (y * s.input[1] + left) * s.in_channels, count, 1, to);
        to += count;
        continue;
      }
      for (int64_t u = 0; u < s.filter[1]; ++u, to += s.in_channels) {
        const int64_t x = left + u * s.dilations[1];
        if (is_row && x >= 0 && x < s.input[1]) {
          sum += CopyUnsigned(image + (y * s.input[1] + x) * s.in_channels, s.in_channels, 1, to);
        } else {
          std::memset(to, 0, s.in_channels);
          outside(v * s.filter[1] + u);
        }
      }
    }
    return sum;
  }

 private:
  const ConvolutionShape& shape_;
  const T* const images_;
};

// How many patches of `row_size` bytes are multiplied at a time, so that they stay in the
// first-level cache.
inline int64_t PatchesAtOnce(int64_t row_size) {
  return std::clamp<int64_t>(16384 / std::max<int64_t>(row_size, 1), 1, 8) * 6;
}

}  // namespace tessera
