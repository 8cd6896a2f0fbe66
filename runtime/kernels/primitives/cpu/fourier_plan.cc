#include "runtime/kernels/primitives/cpu/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>

#include "runtime/kernels/primitives/cpu/fourier_passes.h"

namespace tessera {
namespace {

// Returns exp(-2 pi i k / n) for 0 <= k < n, correctly rounded except in rare cases. The angle is
// reduced to an eighth of a turn first.
template <typename T>
std::complex<T> RootOfUnity(int64_t k, int64_t n) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  // The angle consists of whole eighths of a turn and a rest.
  const int64_t octant = 8 * k / n;
  int64_t rest = 8 * k - octant * n;  // in units of 1 / n of an eighth
  const bool mirrored = octant % 2 == 1;
  if (mirrored) rest = n - rest;
  const Wide angle = static_cast<Wide>(rest) / static_cast<Wide>(n) * (M_PIl / 4);
  Wide c = std::cos(angle), s = std::sin(angle);
  if (mirrored) std::swap(c, s);
  // The remaining rotation is by quarter turns.
  for (int64_t quarter = octant / 2; quarter > 0; --quarter) c = -std::exchange(s, c);
  return {static_cast<T>(c), static_cast<T>(-s)};
}

template <typename T>
void Append(std::complex<T> value, std::vector<T>* to) {
  to->push_back(value.real());
  to->push_back(value.imag());
}

// Returns the factors in the order of the passes, or nothing if a prime factor is too large. Radix
// 8 needs the fewest passes. Two passes of radix 4 replace one of radix 8 and one of radix 2.
std::vector<int> Factors(int64_t length, int max_radix) {
  std::vector<int> factors;
  int twos = 0;
  while (length % 2 == 0) {
    length /= 2;
    ++twos;
  }
  while (twos % 3 != 0 && twos >= 2) {
    factors.push_back(4);
    twos -= 2;
  }
  for (; twos >= 3; twos -= 3) factors.push_back(8);
  if (twos == 1) factors.push_back(2);
  for (int radix : {5, 3}) {
    for (; length % radix == 0; length /= radix) factors.push_back(radix);
  }
  for (int radix = 7; radix <= max_radix; radix += 2) {
    for (; length % radix == 0; length /= radix) factors.push_back(radix);
  }
  if (length > 1) factors.clear();
  return factors;
}

// Returns the smallest number of at least `length` whose only prime factors are 2, 3 and 5.
int64_t ConvolutionLength(int64_t length) {
  int64_t best = 1;
  while (best < length) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t odd = fives; odd < best; odd *= 3) {
      int64_t product = odd;
      while (product < length) product *= 2;
      best = std::min(best, product);
    }
  }
  return best;
}

// Computes the chirp of Bluestein's algorithm and the spectrum of its conjugate.
template <typename T>
void MakeChirp(FourierPlan<T>* plan) {
  const int64_t n = plan->length, m = plan->convolution->length;
  const FourierPlan<double> wide(m);
  std::vector<fourier::Number<double>> conjugate(m, {0, 0}), scratch(m);
  // `square` is k^2 modulo 2 n, computed without overflow.
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
    const std::complex<double> chirp = RootOfUnity<double>(square, 2 * n);
    Append(std::complex<T>(chirp), &plan->chirp);
    for (const int64_t at : {k, (m - k) % m}) conjugate[at] = {chirp.real(), -chirp.imag()};
  }
  const auto* const spectrum = fourier::RunPasses(wide, conjugate.data(), scratch.data());
  for (int64_t k = 0; k < m; ++k) {
    Append(std::complex<T>(std::complex<double>(spectrum[k].re, spectrum[k].im) /
                           static_cast<double>(m)),
           &plan->chirp_spectrum);
  }
}

}  // namespace

template <typename T>
std::vector<T> RootsOfUnity(int64_t length, int64_t count) {
  std::vector<T> roots;
  roots.reserve(2 * count);
  for (int64_t k = 0; k < count; ++k) Append(RootOfUnity<T>(k, length), &roots);
  return roots;
}
template std::vector<float> RootsOfUnity(int64_t, int64_t);
template std::vector<double> RootsOfUnity(int64_t, int64_t);

template <typename T>
FourierPlan<T>::FourierPlan(int64_t length) : length(length), buffer_length(length) {
  const std::vector<int> factors = Factors(length, kMaxRadix);
  if (factors.empty() && length > 1) {
    buffer_length = ConvolutionLength(2 * length - 1);
    convolution = std::make_unique<const FourierPlan>(buffer_length);
    MakeChirp(this);
    return;
  }
  int64_t rest = length, stride = 1;
  for (const int radix : factors) {
    Pass pass{.radix = radix, .butterflies = rest / radix, .stride = stride};
    pass.first_root = static_cast<int64_t>(roots.size());
    for (int64_t p = 0; p < pass.butterflies; ++p) {
      for (int k = 1; k < radix; ++k) Append(RootOfUnity<T>(p * k, rest), &roots);
    }
    pass.first_unit = static_cast<int64_t>(roots.size());
    if (radix > 5 && radix != 8) {
      for (int k = 0; k < radix; ++k) Append(RootOfUnity<T>(k, radix), &roots);
    }
    passes.push_back(pass);
    rest /= radix;
    stride *= radix;
  }
}
template struct FourierPlan<float>;
template struct FourierPlan<double>;

}  // namespace tessera
