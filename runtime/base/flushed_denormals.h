// The rounding of denormal numbers to zero, in which TensorFlow runs all kernels on a CPU.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tessera {

// While it lives, arithmetic on this thread reads denormal floats and doubles as zeros of their
// sign, and gives zeros where a result would be denormal. Such numbers are also a hundred times as
// slow to compute with. What was set before comes back at the end. Conversions from and to half do
// not change, nor do copies. Does nothing where the processor is no x86.
class FlushedDenormals {
 public:
#if defined(__SSE__)
  FlushedDenormals() : before_(_mm_getcsr()) {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_ | kFlush);
  }
  ~FlushedDenormals() {
    if ((before_ & kFlush) != kFlush) _mm_setcsr((_mm_getcsr() & ~kFlush) | (before_ & kFlush));
  }

 private:
  // Flush to zero, for results, and denormals are zeros, for operands (Intel's manual of
  // instructions, volume 1, section 10.2.3).
  static constexpr unsigned kFlush = 0x8000 | 0x0040;

  const unsigned before_;
#else
  FlushedDenormals() {}
#endif

 public:
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;
};

}  // namespace tessera
