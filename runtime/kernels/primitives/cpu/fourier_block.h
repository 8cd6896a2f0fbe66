// Transforms as many lines at once as a vector has lanes.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/fourier_plan.h"
#include "runtime/kernels/primitives/fourier.h"

namespace tessera {

// A few lines of FourierLines, at most the lanes of the function that is called.
template <typename T>
struct FourierBlock {
  static constexpr int kMaxLines = 16;

  FourierKind kind = FourierKind::kComplex;
  bool inverse = false;
  int lines = 0;
  // The beginning of each line, if `stride` is 1; else the lines begin side by side at the first
  // one, and are complex, with elements `stride` numbers apart.
  const T* from[kMaxLines] = {};
  T* to[kMaxLines] = {};
  int64_t stride = 1;
  // Two buffers of the plan's buffer_length plus one complex numbers for each lane, aligned to 64
  // bytes.
  T* scratch = nullptr;
};

// Functions of one instruction set.
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
