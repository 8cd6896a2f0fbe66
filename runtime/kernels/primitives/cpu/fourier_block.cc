#include "runtime/kernels/primitives/cpu/fourier_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/kernels/primitives/cpu/fourier_passes.h"

#ifdef __AVX512F__
#define TESSERA_VECTOR_BYTES 64
namespace tessera::avx512 {
#else
#define TESSERA_VECTOR_BYTES 32
namespace tessera::avx2 {
#endif
namespace {

using fourier::Number;

// A vector of kLanes numbers.
template <typename T, int kLanes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(sizeof(T) * kLanes)));
};
template <typename T>
struct Lanes<T, 1> {
  using Vector = T;
};

// Loads and stores numbers of kLanes lines.
template <typename T, int kLanes>
struct Block {
  using Vector = typename Lanes<T, kLanes>::Vector;
  static constexpr std::make_integer_sequence<int, kLanes> kAll{};

  // Loads the first `count` lanes and sets the others to 0.
  static Vector LoadSome(const T* from, int64_t count) {
    Vector vector{};
    std::memcpy(&vector, from, static_cast<size_t>(count) * sizeof(T));
    return vector;
  }
  static Vector Load(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
  }

  // Returns {a[0], b[0], a[1], b[1], ...}, from the start or from the middle on.
  static Vector InterleaveLow(Vector a, Vector b) { return Interleave<0>(a, b, kAll); }
  static Vector InterleaveHigh(Vector a, Vector b) { return Interleave<kLanes / 2>(a, b, kAll); }
  template <int kFirst, int... kLane>
  static Vector Interleave(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, (kFirst + kLane / 2 + kLane % 2 * kLanes)...);
  }
  // Returns the elements at even, or at odd, positions of a and b.
  static Vector Evens(Vector a, Vector b) { return EverySecond<0>(a, b, kAll); }
  static Vector Odds(Vector a, Vector b) { return EverySecond<1>(a, b, kAll); }
  template <int kFirst, int... kLane>
  static Vector EverySecond(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(a, b, (kFirst + 2 * kLane)...);
  }

  // Transposes a square matrix, which has as many vectors as lanes, by perfect shuffles.
  [[gnu::always_inline]] static void Transpose(Vector* rows) {
    if constexpr (kLanes > 1) {
#pragma GCC unroll 4
      for (int width = 1; width < kLanes; width *= 2) {
        Vector shuffled[kLanes];
#pragma GCC unroll 8
        for (int i = 0; i < kLanes / 2; ++i) {
          shuffled[2 * i] = InterleaveLow(rows[i], rows[i + kLanes / 2]);
          shuffled[2 * i + 1] = InterleaveHigh(rows[i], rows[i + kLanes / 2]);
        }
        std::memcpy(rows, shuffled, sizeof(shuffled));
      }
    }
  }

  // Reads `count` elements of T of each line: to[k] holds element k of all lines.
  static void LoadLines(const FourierBlock<T>& block, int64_t count, Vector* to) {
    Vector rows[kLanes] = {};
    for (int64_t first = 0; first < count; first += kLanes) {
      const int64_t columns = std::min<int64_t>(kLanes, count - first);
      if (columns == kLanes && block.lines == kLanes) {
#pragma GCC unroll 16
        for (int line = 0; line < kLanes; ++line) rows[line] = Load(block.from[line] + first);
        Transpose(rows);
#pragma GCC unroll 16
        for (int k = 0; k < kLanes; ++k) to[first + k] = rows[k];
        continue;
      }
      for (int line = 0; line < block.lines; ++line) {
        rows[line] = LoadSome(block.from[line] + first, columns);
      }
      for (int line = block.lines; line < kLanes; ++line) rows[line] = Vector{};
      Transpose(rows);
      for (int64_t k = 0; k < columns; ++k) to[first + k] = rows[k];
    }
  }

  // Writes `count` elements of each line.
  static void StoreLines(const FourierBlock<T>& block, int64_t count, const Vector* from) {
    Vector rows[kLanes] = {};
    for (int64_t first = 0; first < count; first += kLanes) {
      const int64_t columns = std::min<int64_t>(kLanes, count - first);
      if (columns == kLanes && block.lines == kLanes) {
#pragma GCC unroll 16
        for (int k = 0; k < kLanes; ++k) rows[k] = from[first + k];
        Transpose(rows);
#pragma GCC unroll 16
        for (int line = 0; line < kLanes; ++line) {
          std::memcpy(block.to[line] + first, &rows[line], sizeof(Vector));
        }
        continue;
      }
      for (int64_t k = 0; k < columns; ++k) rows[k] = from[first + k];
      Transpose(rows);
      for (int line = 0; line < block.lines; ++line) {
        std::memcpy(block.to[line] + first, &rows[line], static_cast<size_t>(columns) * sizeof(T));
      }
    }
  }

  // Loads complex lines that lie side by side: a number of all lines is contiguous.
  static void LoadColumns(const FourierBlock<T>& block, int64_t length, Number<Vector>* to) {
    if constexpr (kLanes == 1) {
      for (int64_t k = 0; k < length; ++k) {
        const T* const from = block.from[0] + 2 * k * block.stride;
        to[k] = {from[0], from[1]};
      }
    } else {
      const int64_t low = std::min(2 * block.lines, kLanes), high = 2 * block.lines - low;
      for (int64_t k = 0; k < length; ++k) {
        const T* const from = block.from[0] + 2 * k * block.stride;
        const Vector a = low == kLanes ? Load(from) : LoadSome(from, low);
        const Vector b = high == kLanes ? Load(from + kLanes) : LoadSome(from + low, high);
        to[k] = {Evens(a, b), Odds(a, b)};
      }
    }
  }
  static void StoreColumns(const FourierBlock<T>& block, int64_t length,
                           const Number<Vector>* from) {
    if constexpr (kLanes == 1) {
      for (int64_t k = 0; k < length; ++k) {
        T* const to = block.to[0] + 2 * k * block.stride;
        to[0] = from[k].re;
        to[1] = from[k].im;
      }
    } else {
      for (int64_t k = 0; k < length; ++k) {
        T* const to = block.to[0] + 2 * k * block.stride;
        const Vector parts[2] = {InterleaveLow(from[k].re, from[k].im),
                                 InterleaveHigh(from[k].re, from[k].im)};
        if (block.lines == kLanes) {
          std::memcpy(to, parts, sizeof(parts));
        } else {
          std::memcpy(to, parts, 2 * static_cast<size_t>(block.lines) * sizeof(T));
        }
      }
    }
  }
};

template <typename V>
Number<V> Conjugate(Number<V> a) {
  return {a.re, -a.im};
}

// Exchanges the real and imaginary parts and multiplies them by `scale`. A transform between two
// such exchanges is the inverse transform.
template <typename V, typename T>
void ExchangeParts(int64_t length, T scale, Number<V>* z) {
  for (int64_t k = 0; k < length; ++k) z[k] = {z[k].im * scale, z[k].re * scale};
}

// Computes the spectrum of a real line of 2 n numbers, in place, from the transform of its n pairs
// taken as complex numbers. `z` has room for n + 1 numbers. The spectra of even and odd elements
// are separated by their symmetry.
template <typename V, typename T>
void SplitSpectrum(const T* roots, int64_t n, Number<V>* z) {
  z[n] = z[0];
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const Number<V> a = z[k], b = Conjugate(z[n - k]);
    const Number<V> even = (a + b) * T(0.5), odd = Times(MinusI(a - b) * T(0.5), roots + 2 * k);
    z[k] = even + odd;
    z[n - k] = Conjugate(even - odd);
  }
}

// Reverses Split(), up to a factor of 2. Imaginary parts that the spectrum of no real line has are
// ignored.
template <typename V, typename T>
void JoinSpectrum(const T* roots, int64_t n, Number<V>* z) {
  z[0].im = z[n].im = V{};
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const Number<V> a = z[k], b = Conjugate(z[n - k]);
    const T root[2] = {roots[2 * k], -roots[2 * k + 1]};
    const Number<V> even = a + b, odd = Times(a - b, root);
    // This is even + i * odd.
    z[k] = even - MinusI(odd);
    z[n - k] = Conjugate(even + MinusI(odd));
  }
}

template <typename T, int kLanes>
void Transform(const FourierLinePlan<T>& plan, const FourierBlock<T>& block) {
  using Lines = Block<T, kLanes>;
  using Vector = typename Lines::Vector;
  const int64_t length = plan.length, n = plan.complex.length, half = length / 2 + 1;
  const bool is_paired = n < length;
  auto* const a = reinterpret_cast<Number<Vector>*>(block.scratch);
  Number<Vector>* const b = a + plan.complex.buffer_length + 1;
  Vector* const elements = &a->re;

  if (block.kind == FourierKind::kRealToComplex) {
    if (is_paired) {
      Lines::LoadLines(block, length, elements);
    } else {
      Vector* const reals = &b->re;
      Lines::LoadLines(block, length, reals);
      for (int64_t k = 0; k < length; ++k) a[k] = {reals[k], Vector{}};
    }
  } else if (block.stride == 1) {
    Lines::LoadLines(block, 2 * (block.kind == FourierKind::kComplex ? length : half), elements);
  } else {
    Lines::LoadColumns(block, length, a);
  }
  if (block.kind == FourierKind::kComplexToReal) {
    if (is_paired) {
      JoinSpectrum(plan.half_roots.data(), n, a);
    } else {
      a[0].im = Vector{};
      for (int64_t k = half; k < length; ++k) a[k] = Conjugate(a[length - k]);
    }
  }

  if (block.inverse) ExchangeParts(n, T(1) / static_cast<T>(length), a);
  Number<Vector>* const z = fourier::RunPasses(plan.complex, a, b);
  if (block.inverse) ExchangeParts(n, T(1), z);

  if (block.kind == FourierKind::kComplexToReal) {
    Vector* const reals = &z->re;
    if (!is_paired) {
      for (int64_t k = 0; k < length; ++k) reals[k] = z[k].re;
    }
    Lines::StoreLines(block, length, reals);
    return;
  }
  if (block.kind == FourierKind::kRealToComplex && is_paired) {
    SplitSpectrum(plan.half_roots.data(), n, z);
  }
  if (block.stride == 1) {
    Lines::StoreLines(block, 2 * (block.kind == FourierKind::kComplex ? length : half), &z->re);
  } else {
    Lines::StoreColumns(block, length, z);
  }
}

}  // namespace

#define TESSERA_FOURIER_LOOPS(T, name)                                                 \
  extern const FourierLoops<T> name = {TESSERA_VECTOR_BYTES / sizeof(T),               \
                                       Transform<T, TESSERA_VECTOR_BYTES / sizeof(T)>, \
                                       Transform<T, 1>}
TESSERA_FOURIER_LOOPS(float, kFourierLoopsOfFloat);
TESSERA_FOURIER_LOOPS(double, kFourierLoopsOfDouble);

}  // namespace tessera::avx512 or ::avx2
