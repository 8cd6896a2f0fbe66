// The passes of a complex Fourier transform, over vectors that hold one number of several lines.
// Everything is static: the linker must not merge one file's code with another's, which may be
// compiled for a wider instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/kernels/primitives/cpu/fourier_plan.h"

namespace tessera::fourier {

// A complex number, or one complex number of each line. V is float, double or a vector of them.
template <typename V>
struct Number {
  V re, im;

  friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  // Multiplies a complex number by a real one.
  template <typename T>
  friend Number operator*(Number a, T b) {
    return {a.re * b, a.im * b};
  }
};

// Returns -i * a.
template <typename V>
static inline Number<V> MinusI(Number<V> a) {
  return {a.im, -a.re};
}

// Returns the product of `a` and the complex number at `root`.
template <typename V, typename T>
static inline Number<V> Times(Number<V> a, const T* root) {
  return {a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
}

// Computes the transform of 2, 3, 4, 5 or 8 numbers in place.
template <int kRadix, typename T, typename V>
[[gnu::always_inline]] static inline void Butterfly(Number<V>* a) {
  if constexpr (kRadix == 2) {
    a[1] = std::exchange(a[0], a[0] + a[1]) - a[1];
  } else if constexpr (kRadix == 3) {
    constexpr T kSin = T(0.866025403784438646763723170752936183L);
    const Number<V> sum = a[1] + a[2], turned = MinusI(a[1] - a[2]) * kSin;
    const Number<V> mean = a[0] - sum * T(0.5);
    a[0] = a[0] + sum;
    a[1] = mean + turned;
    a[2] = mean - turned;
  } else if constexpr (kRadix == 4) {
    const Number<V> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], e = MinusI(a[1] - a[3]);
    a[0] = s + t;
    a[1] = d + e;
    a[2] = s - t;
    a[3] = d - e;
  } else if constexpr (kRadix == 5) {
    constexpr T kCos1 = T(0.309016994374947424102293417182819059L),
                kCos2 = T(-0.809016994374947424102293417182819059L),
                kSin1 = T(0.951056516295153572116439333379382143L),
                kSin2 = T(0.587785252292473129168705954639072769L);
    const Number<V> s1 = a[1] + a[4], s2 = a[2] + a[3];
    const Number<V> d1 = MinusI(a[1] - a[4]), d2 = MinusI(a[2] - a[3]);
    const Number<V> c1 = a[0] + s1 * kCos1 + s2 * kCos2, c2 = a[0] + s1 * kCos2 + s2 * kCos1;
    const Number<V> e1 = d1 * kSin1 + d2 * kSin2, e2 = d1 * kSin2 - d2 * kSin1;
    a[0] = a[0] + s1 + s2;
    a[1] = c1 + e1;
    a[2] = c2 + e2;
    a[3] = c2 - e2;
    a[4] = c1 - e1;
  } else {
    static_assert(kRadix == 8);
    constexpr T kHalfRoot = T(0.707106781186547524400844362104849039L);
    Number<V> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    Butterfly<4, T>(even);
    Butterfly<4, T>(odd);
    odd[1] = (odd[1] + MinusI(odd[1])) * kHalfRoot;
    odd[2] = MinusI(odd[2]);
    odd[3] = (MinusI(odd[3]) - odd[3]) * kHalfRoot;
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      a[k] = even[k] + odd[k];
      a[k + 4] = even[k] - odd[k];
    }
  }
}

// Computes one pass: y(q, k, p) is the transform over j of root(j, p) x(q, p, j), where the first
// index is the innermost one. This is decimation in time in Stockham's auto-sort order.
template <int kRadix, typename V, typename T>
[[gnu::noinline]] static void RunPass(const typename FourierPlan<T>::Pass& pass, const T* roots,
                                      const Number<V>* __restrict x, Number<V>* __restrict y) {
  const int64_t stride = pass.stride, butterflies = pass.butterflies;
  const T* root = roots + pass.first_root;
  for (int64_t p = 0; p < butterflies; ++p, root += 2 * (kRadix - 1)) {
    for (int64_t q = 0; q < stride; ++q) {
      Number<V> a[kRadix];
#pragma GCC unroll 8
      for (int j = 0; j < kRadix; ++j) a[j] = x[q + stride * (p + butterflies * j)];
      Butterfly<kRadix, T>(a);
      y[q + stride * kRadix * p] = a[0];
#pragma GCC unroll 8
      for (int k = 1; k < kRadix; ++k) {
        y[q + stride * (kRadix * p + k)] = p == 0 ? a[k] : Times(a[k], root + 2 * (k - 1));
      }
    }
  }
}

// Computes a pass of any odd radix by the definition of the transform. Outputs k and radix - k
// share their products.
template <typename V, typename T>
[[gnu::noinline]] static void RunOddPass(const typename FourierPlan<T>::Pass& pass, const T* roots,
                                         const Number<V>* __restrict x, Number<V>* __restrict y) {
  constexpr int kMaxHalf = FourierPlan<T>::kMaxRadix / 2;
  const int64_t stride = pass.stride, butterflies = pass.butterflies;
  const int radix = pass.radix, half = radix / 2;
  const T* const units = roots + pass.first_unit;
  const T* root = roots + pass.first_root;
  for (int64_t p = 0; p < butterflies; ++p, root += 2 * (radix - 1)) {
    for (int64_t q = 0; q < stride; ++q) {
      const auto input = [&](int64_t j) { return x[q + stride * (p + butterflies * j)]; };
      Number<V>* const to = y + q + stride * radix * p;
      Number<V> sums[kMaxHalf], differences[kMaxHalf];
      const Number<V> first = input(0);
      Number<V> total = first;
      for (int j = 1; j <= half; ++j) {
        sums[j - 1] = input(j) + input(radix - j);
        differences[j - 1] = input(j) - input(radix - j);
        total = total + sums[j - 1];
      }
      to[0] = total;
      for (int k = 1; k <= half; ++k) {
        Number<V> even = first, odd = {first.re - first.re, first.re - first.re};
        for (int j = 1, unit = k; j <= half; ++j, unit = (unit + k) % radix) {
          even = even + sums[j - 1] * units[2 * unit];
          odd = odd - MinusI(differences[j - 1]) * units[2 * unit + 1];
        }
        to[stride * k] = Times(even + odd, root + 2 * (k - 1));
        to[stride * (radix - k)] = Times(even - odd, root + 2 * (radix - k - 1));
      }
    }
  }
}

// Transforms the plan's `length` numbers in `a`. Both buffers have the plan's buffer_length;
// returns the one that holds the result.
template <typename V, typename T>
[[gnu::noinline]] static Number<V>* RunPasses(const FourierPlan<T>& plan, Number<V>* a,
                                              Number<V>* b) {
  if (plan.convolution != nullptr) {
    const int64_t n = plan.length, m = plan.buffer_length;
    for (int64_t k = 0; k < n; ++k) a[k] = Times(a[k], &plan.chirp[2 * k]);
    std::fill(a + n, a + m, Number<V>{});
    Number<V>* spectrum = RunPasses(*plan.convolution, a, b);
    // With real and imaginary parts exchanged before and after it, a transform is its inverse.
    for (int64_t k = 0; k < m; ++k) {
      const Number<V> product = Times(spectrum[k], &plan.chirp_spectrum[2 * k]);
      spectrum[k] = {product.im, product.re};
    }
    Number<V>* const sums = RunPasses(*plan.convolution, spectrum, spectrum == a ? b : a);
    for (int64_t k = 0; k < n; ++k) {
      sums[k] = Times(Number<V>{sums[k].im, sums[k].re}, &plan.chirp[2 * k]);
    }
    return sums;
  }
  for (const auto& pass : plan.passes) {
    const T* const roots = plan.roots.data();
    switch (pass.radix) {
      case 2:
        RunPass<2, V, T>(pass, roots, a, b);
        break;
      case 3:
        RunPass<3, V, T>(pass, roots, a, b);
        break;
      case 4:
        RunPass<4, V, T>(pass, roots, a, b);
        break;
      case 5:
        RunPass<5, V, T>(pass, roots, a, b);
        break;
      case 8:
        RunPass<8, V, T>(pass, roots, a, b);
        break;
      default:
        RunOddPass<V, T>(pass, roots, a, b);
    }
    std::swap(a, b);
  }
  return a;
}

}  // namespace tessera::fourier
