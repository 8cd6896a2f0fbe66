// The Fourier transform of real 16-bit samples in 16-bit arithmetic, for small processors.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

struct FixedPointComplex {
  int16_t re = 0, im = 0;
};

// Transforms `size` samples into size / 2 + 1 complex numbers, which are the transform divided by
// size / 2: each stage divides by its radix before it adds, so that nothing overflows. Numbers have
// 15 fractional bits; products are rounded to nearest. Stages have radix 4, and the last one radix
// 2 where the size asks for it, as in TensorFlow's micro frontend, bit for bit.
class FixedPointFourier {
 public:
  // Requires a power of two of at least 2.
  explicit FixedPointFourier(int64_t size);

  std::vector<FixedPointComplex> operator()(const std::vector<int16_t>& samples) const;

 private:
  // Transforms the n elements in[0], in[stride], ...
  void Transform(const FixedPointComplex* in, int64_t stride, int64_t n,
                 FixedPointComplex* out) const;

  const int64_t half_;                       // the samples count as so many complex numbers
  std::vector<FixedPointComplex> roots_;     // e^(-2 pi i k / half)
  std::vector<FixedPointComplex> unpacked_;  // e^(-pi i ((k + 1) / half + 1/2))
};

}  // namespace tessera
