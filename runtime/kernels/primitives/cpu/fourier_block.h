// Fourier transforms of several lines at once, one in each lane of a vector.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/fourier_plan.h"
#include "runtime/kernels/primitives/fourier.h"

namespace tessera {

// A few lines of FourierLines, at most as many as the function that is called has lanes.
template <typename T>
struct FourierBlock {
  static constexpr int kMaxLines = 16;

  FourierKind kind = FourierKind::kComplex;
  bool inverse = false;
  int lines = 0;
  // The beginning of each line if `stride` is 1. Otherwise only the first one is set: the lines are
  // complex and begin side by side there, and the elements of a line are `stride` numbers apart.
  const T* from[kMaxLines] = {};
  T* to[kMaxLines] = {};
  int64_t stride = 1;
  // Two buffers of the plan's buffer_length plus one complex numbers for each lane, aligned to 64
  // bytes.
  T* scratch = nullptr;
};

// The functions that are compiled for one instruction set.
template <typename T>
struct FourierLoops {
  int lanes;
  void (*transform)(const FourierLinePlan<T>& plan, const FourierBlock<T>& block);
  void (*transform_one)(const FourierLinePlan<T>& plan, const FourierBlock<T>& block);  // one lane
};

namespace avx512 {
extern const FourierLoops<float> kFourierLoopsOfFloat;
extern const FourierLoops<double> kFourierLoopsOfDouble;
}  // namespace avx512
namespace avx2 {
extern const FourierLoops<float> kFourierLoopsOfFloat;
extern const FourierLoops<double> kFourierLoopsOfDouble;
}  // namespace avx2

}  // namespace tessera
