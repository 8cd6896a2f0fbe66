#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "runtime/kernels/primitives/cpu/elementwise.h"
#include "runtime/kernels/primitives/cpu/reciprocal.h"
#include "runtime/kernels/primitives/cpu/reciprocal_root.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera {
namespace {

// Returns true if the operand and the result are contiguous in each row.
template <typename R, typename X>
bool AreContiguous(const LoopBlock& b) {
  return b.column_stride[0] == sizeof(R) && b.column_stride[1] == sizeof(X);
}

// A faster loop whose results have the same bits as those of UnaryLoop().
void ReciprocalLoop(const LoopBlock& b) {
  if (!AreContiguous<float, float>(b)) {
    UnaryLoop<functors::Reciprocal, float, float>(b);
    return;
  }
  for (int64_t row = 0; row < b.rows; ++row) {
    Reciprocals(reinterpret_cast<const float*>(b.data[1] + row * b.row_stride[1]), b.columns,
                reinterpret_cast<float*>(b.data[0] + row * b.row_stride[0]));
  }
}

// A loop that vectorises, where the C library's function of one number does not. That function
// computes in double too, where floats have exact squares: the results have the same bits.
void ComplexAbsLoop(const LoopBlock& b) {
  if (!AreContiguous<float, std::complex<float>>(b)) {
    UnaryLoop<functors::ComplexAbs, float, std::complex<float>>(b);
    return;
  }
  const int64_t columns = b.columns;  // a copy: bytes that are stored might be it
  for (int64_t row = 0; row < b.rows; ++row) {
    const float* const x = reinterpret_cast<const float*>(b.data[1] + row * b.row_stride[1]);
    float* const y = reinterpret_cast<float*>(b.data[0] + row * b.row_stride[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < columns; ++i) {
      const float real = x[2 * i], imaginary = x[2 * i + 1];
      const double wide_real = real, wide_imaginary = imaginary;
      const float size =
          static_cast<float>(std::sqrt(wide_real * wide_real + wide_imaginary * wide_imaginary));
      // A number with an infinite part is infinite even if the other part is NaN.
      const bool is_infinite = std::abs(real) == INFINITY || std::abs(imaginary) == INFINITY;
      y[i] = is_infinite ? INFINITY : size;
    }
  }
}

// Elements that are not contiguous are copied, so that their results have the same bits.
void ReciprocalRootLoop(const LoopBlock& b) {
  const bool is_direct = AreContiguous<float, float>(b);
  constexpr int64_t kCopied = 64;
  for (int64_t row = 0; row < b.rows; ++row) {
    char* const y = b.data[0] + row * b.row_stride[0];
    char* const x = b.data[1] + row * b.row_stride[1];
    if (is_direct) {
      ReciprocalRoots(reinterpret_cast<const float*>(x), b.columns, reinterpret_cast<float*>(y));
      continue;
    }
    for (int64_t first = 0; first < b.columns; first += kCopied) {
      const int64_t count = std::min(kCopied, b.columns - first);
      float copies[kCopied];
      for (int64_t i = 0; i < count; ++i) {
        copies[i] = ElementAt<const float>(x, (first + i) * b.column_stride[1]);
      }
      ReciprocalRoots(copies, count, copies);
      for (int64_t i = 0; i < count; ++i) {
        ElementAt<float>(y, (first + i) * b.column_stride[0]) = copies[i];
      }
    }
  }
}

}  // namespace

template <>
inline constexpr LoopFn elementwise_internal::kHandWrittenLoop<functors::Rsqrt, float> =
    &ReciprocalRootLoop;
template <>
inline constexpr LoopFn elementwise_internal::kHandWrittenLoop<functors::Reciprocal, float> =
    &ReciprocalLoop;
template <>
inline constexpr LoopFn
    elementwise_internal::kHandWrittenLoop<functors::ComplexAbs, std::complex<float>> =
        &ComplexAbsLoop;

REGISTER_CPU_ELEMENTWISE(functors::kUnaryOps);

}  // namespace tessera
