// How a Fourier transform of one length is computed: its factors and roots of unity.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera {

// A complex transform by Stockham's mixed-radix algorithm, which needs no bit reversal: each pass
// reads one buffer and writes the other. A length with a prime factor above kMaxRadix is
// transformed by Bluestein's algorithm, as a convolution. Immutable, so that threads may share it.
template <typename T>
struct FourierPlan {
  static constexpr int kMaxRadix = 31;

  struct Pass {
    int radix = 0;
    int64_t butterflies = 0;  // of one pass, for each of `stride` numbers side by side
    int64_t stride = 1;
    // The index in `roots` of the complex factors for inputs 1 to radix - 1 of each butterfly.
    int64_t first_root = 0;
    int64_t first_unit =
        0;  // index in `roots` of the radix-th roots of unity; unused for radices 2 to 5 and 8
  };

  // Requires a positive `length`.
  explicit FourierPlan(int64_t length);

  int64_t length;
  int64_t buffer_length;  // complex numbers of a buffer: `length`, or that of the convolution
  std::vector<Pass> passes;
  std::vector<T> roots;  // complex numbers

  // The transform of Bluestein's convolution; null for lengths that need none.
  std::unique_ptr<const FourierPlan> convolution;
  std::vector<T> chirp;           // `length` complex numbers exp(-i pi k^2 / length)
  std::vector<T> chirp_spectrum;  // of the conjugated chirp, divided by the convolution's length
};

// Returns the complex roots exp(-2 pi i k / length) for 0 <= k < count.
template <typename T>
std::vector<T> RootsOfUnity(int64_t length, int64_t count);

// The plan for lines of one length. Real lines of even length are transformed as complex ones of
// half the length.
template <typename T>
struct FourierLinePlan {
  FourierLinePlan(int64_t length, bool is_real)
      : length(length),
        is_real(is_real),
        complex(is_real && length % 2 == 0 ? length / 2 : length),
        half_roots(complex.length < length ? RootsOfUnity<T>(length, length / 4 + 1)
                                           : std::vector<T>()) {}

  bool IsFor(int64_t wanted_length, bool wanted_real) const {
    return length == wanted_length && is_real == wanted_real;
  }

  const int64_t length;
  const bool is_real;
  const FourierPlan<T> complex;
  const std::vector<T> half_roots;
};

}  // namespace tessera
