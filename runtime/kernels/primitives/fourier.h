// Discrete Fourier transforms of many lines of numbers.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>

#include "runtime/kernels/primitives/device_function.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The kinds of transforms. They differ in the numbers that are read and written.
enum class FourierKind {
  kComplex,        // `length` complex numbers to `length` complex numbers
  kRealToComplex,  // `length` real numbers to the first length / 2 + 1 of their spectrum
  kComplexToReal,  // the first length / 2 + 1 numbers of a spectrum to `length` real numbers
};

// The offsets at which lines begin in an array. Lines are numbered along up to three dimensions:
// line ((c * extents[1]) + b) * extents[0] + a begins at a * strides[0] + b * strides[1] + c *
// outer.
struct LineOffsets {
  int64_t extents[2] = {1, 1};
  int64_t strides[2] = {0, 0};
  int64_t outer = 0;

  // Returns the offsets of lines that are `distance` apart.
  static LineOffsets Every(int64_t distance) { return {.outer = distance}; }

  TESSERA_DEVICE_FUNCTION int64_t operator()(int64_t line) const {
    const int64_t a = line % extents[0], rest = line / extents[0];
    return a * strides[0] + rest % extents[1] * strides[1] + rest / extents[1] * outer;
  }
};

// Lines of T and std::complex<T>, where T is float or double. Offsets and strides are in elements
// of the type that is read or written: real or complex numbers.
template <typename T>
struct FourierLines {
  FourierKind kind = FourierKind::kComplex;
  bool inverse = false;  // conjugates the roots and divides the result by `length`
  int64_t length = 0;    // positive
  int64_t count = 0;     // number of lines
  LineOffsets from_offset, to_offset;
  // Lines come in runs of `adjacent`, which begin side by side; then both sides are complex, and
  // the elements of a line are `stride` elements apart. 1: each line is contiguous.
  int64_t adjacent = 1, stride = 1;
  // Both lie in the memory of the device. They may be one array if the offsets of both are equal.
  const T* from = nullptr;
  T* to = nullptr;
};

// Transforms lines. It may keep the roots of unity for the lengths that it has seen. Thread-safe.
//
// It computes in T, with roots that are rounded once. A line's result does not depend on the lines
// beside it.
class FourierTransform {
 public:
  using Function = std::unique_ptr<FourierTransform>();
  virtual ~FourierTransform() = default;

  // Transforms the lines. Errors: RESOURCE_EXHAUSTED for scratch memory.
  virtual absl::Status Run(KernelContext& ctx, const FourierLines<float>& lines) = 0;
  virtual absl::Status Run(KernelContext& ctx, const FourierLines<double>& lines) = 0;
};

}  // namespace tessera
