#include "runtime/kernels/audio/fixed_point_fourier.h"

#include <cmath>

namespace tessera {
namespace {

using Complex = FixedPointComplex;

constexpr int kFractionBits = 15;
constexpr int32_t kOne = (1 << kFractionBits) - 1;

int16_t Rounded(int32_t product) {
  return static_cast<int16_t>((product + (1 << (kFractionBits - 1))) >> kFractionBits);
}

// The sums wrap around.
Complex operator+(Complex a, Complex b) {
  return {static_cast<int16_t>(a.re + b.re), static_cast<int16_t>(a.im + b.im)};
}
Complex operator-(Complex a, Complex b) {
  return {static_cast<int16_t>(a.re - b.re), static_cast<int16_t>(a.im - b.im)};
}
Complex operator*(Complex a, Complex b) {
  return {Rounded(a.re * b.re - a.im * b.im), Rounded(a.re * b.im + a.im * b.re)};
}
Complex Divided(Complex a, int divisor) {
  return {Rounded(a.re * (kOne / divisor)), Rounded(a.im * (kOne / divisor))};
}

Complex UnitAt(double phase) {
  return {static_cast<int16_t>(std::floor(0.5 + kOne * std::cos(phase))),
          static_cast<int16_t>(std::floor(0.5 + kOne * std::sin(phase)))};
}

}  // namespace

FixedPointFourier::FixedPointFourier(int64_t size) : half_(size / 2) {
  const auto half = static_cast<double>(half_);
  for (int64_t k = 0; k < half_; ++k) {
    roots_.push_back(UnitAt(-2 * M_PI * static_cast<double>(k) / half));
  }
  for (int64_t k = 0; k < half_ / 2; ++k) {
    unpacked_.push_back(UnitAt(-M_PI * (static_cast<double>(k + 1) / half + 0.5)));
  }
}

void FixedPointFourier::Transform(const Complex* in, int64_t stride, int64_t n,
                                  Complex* out) const {
  if (n == 1) {
    *out = *in;
    return;
  }
  const int64_t radix = n % 4 == 0 ? 4 : 2, m = n / radix;
  for (int64_t q = 0; q < radix; ++q) {
    Transform(in + q * stride, stride * radix, m, out + q * m);
  }
  for (int64_t k = 0; k < m; ++k) {
    if (radix == 2) {
      const Complex a = Divided(out[k], 2), b = Divided(out[k + m], 2) * roots_[k * stride];
      out[k] = a + b;
      out[k + m] = a - b;
      continue;
    }
    const Complex a = Divided(out[k], 4);
    const Complex b = Divided(out[k + m], 4) * roots_[k * stride];
    const Complex c = Divided(out[k + 2 * m], 4) * roots_[2 * k * stride];
    const Complex d = Divided(out[k + 3 * m], 4) * roots_[3 * k * stride];
    const Complex even = a + c, odd = a - c, sum = b + d, difference = b - d;
    // The difference turned by -i.
    const Complex turned = {difference.im, static_cast<int16_t>(-difference.re)};
    out[k] = even + sum;
    out[k + m] = odd + turned;
    out[k + 2 * m] = even - sum;
    out[k + 3 * m] = odd - turned;
  }
}

// Pairs of samples are transformed as complex numbers. The transforms of the even and of the odd
// samples are the parts of it that are symmetric and antisymmetric.
std::vector<FixedPointComplex> FixedPointFourier::operator()(
    const std::vector<int16_t>& samples) const {
  std::vector<Complex> pairs(half_), packed(half_), result(half_ + 1);
  for (int64_t k = 0; k < half_; ++k) pairs[k] = {samples[2 * k], samples[2 * k + 1]};
  Transform(pairs.data(), 1, half_, packed.data());
  const Complex first = Divided(packed[0], 2);
  result[0] = {static_cast<int16_t>(first.re + first.im), 0};
  result[half_] = {static_cast<int16_t>(first.re - first.im), 0};
  for (int64_t k = 1; k <= half_ / 2; ++k) {
    const Complex other = packed[half_ - k];
    const Complex a = Divided(packed[k], 2);
    const Complex b = Divided({other.re, static_cast<int16_t>(-other.im)}, 2);
    const Complex even = a + b, odd = (a - b) * unpacked_[k - 1];
    result[k] = {static_cast<int16_t>((even.re + odd.re) >> 1),
                 static_cast<int16_t>((even.im + odd.im) >> 1)};
    result[half_ - k] = {static_cast<int16_t>((even.re - odd.re) >> 1),
                         static_cast<int16_t>((odd.im - even.im) >> 1)};
  }
  return result;
}

}  // namespace tessera
