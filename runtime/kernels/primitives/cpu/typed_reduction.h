// Inner loops of the reduction engine, generated from a functor that defines the reduction of
// single elements.
//
//   struct Sum {
//     template <typename T> static T Neutral() { return T{0}; }
//     template <typename T> T Add(T acc, T x) const { return acc + x; }
//     template <typename T> T Merge(T acc, T other) const { return acc + other; }
//     template <typename T> T Result(T acc, int64_t count) const { return acc; }
//   };
//   const ReductionLoops loops = MakeReductionLoops<Sum, float>();
//   const ReductionLoops narrow = MakeReductionLoops<Sum, float, Eigen::bfloat16>();
//
// Files that instantiate these are compiled with LOOP_COPTS.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/reduction_loop.h"

namespace tessera {

template <typename T, int kLength>
using ElementVector [[gnu::vector_size(kLength * sizeof(T))]] = T;

// T is the type of the accumulators, S that of the elements: T itself, or a narrow form of float.
template <typename R, typename T, typename S = T>
struct TypedReduction {
  // The number of accumulators for one run, so that additions need not wait for each other.
  static constexpr int kLanes = sizeof(T) >= 16 ? 4 : 128 / sizeof(T);
  // Runs with fewer elements are added by AddFew().
  static constexpr int64_t kShortRun = std::min(2 * kLanes, 64);
  // The number of elements after which the lanes are merged. It bounds the length of a chain of
  // additions, and so the rounding error.
  static constexpr int64_t kBlock = 4096;
  // Rows of at most this many columns are added to accumulators in registers.
  static constexpr int64_t kFewColumns = 128;
  static constexpr bool kIsVectorised = std::is_arithmetic_v<T>;
  static constexpr bool kHasOrder = std::is_floating_point_v<T> && requires(R r, T x) {
    r.AddOrdered(x, x);
  };

  static T* Typed(char* data) { return reinterpret_cast<T*>(data); }
  static const T* Typed(const char* data) { return reinterpret_cast<const T*>(data); }
  static const S* Stored(const char* data) { return reinterpret_cast<const S*>(data); }

  // A vector of kLength elements. There are no vectors of complex numbers, for which this type is
  // unused.
  template <int kLength>
  using Vector = ElementVector<std::conditional_t<kIsVectorised, T, char>, kLength>;

  // Loads kLength elements as T.
  template <int kLength>
  static Vector<kLength> Load(const S* from) {
    Vector<kLength> values;
    if constexpr (std::is_same_v<S, T>) {
      std::memcpy(&values, from, sizeof(values));
    } else if constexpr (kLength == 8) {
      __m128i bits;
      std::memcpy(&bits, from, sizeof(bits));
      __m256 wide;
      if constexpr (std::is_same_v<S, Eigen::bfloat16>) {
        wide = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
      } else {
        wide = _mm256_cvtph_ps(bits);
      }
      std::memcpy(&values, &wide, sizeof(values));
    } else {
      for (int i = 0; i < kLength; ++i) values[i] = static_cast<T>(from[i]);
    }
    return values;
  }

  // Loads 2 * kLength elements as two vectors, in any order.
  template <int kLength>
  static void LoadTwo(const S* from, Vector<kLength>* first, Vector<kLength>* second) {
    if constexpr (std::is_same_v<S, Eigen::bfloat16>) {
      // Each half of a word is an element.
      ElementVector<uint32_t, kLength> words;
      std::memcpy(&words, from, sizeof(words));
      const ElementVector<uint32_t, kLength> lower = words << 16, upper = words & 0xffff0000u;
      std::memcpy(first, &lower, sizeof(lower));
      std::memcpy(second, &upper, sizeof(upper));
    } else {
      *first = Load<kLength>(from);
      *second = Load<kLength>(from + kLength);
    }
  }

  static void Init(char* acc, int64_t count) {
    std::fill_n(Typed(acc), count, R::template Neutral<T>());
  }

  using Lanes = Vector<kLanes / 4>;

  // A vector of accumulators for elements of any type.
  struct LaneSums {
    Lanes acc = R::template Neutral<T>() - Lanes{};
    void Add(Lanes values) { acc = R{}.Add(acc, values); }
    void Merge(const LaneSums& other) { acc = R{}.Merge(acc, other.acc); }
  };
  // A vector of accumulators for Max and Min, with a sum that becomes NaN if any of the numbers is
  // NaN. Infinities of both signs make it NaN as well. An addition takes less time than a test for
  // NaN.
  struct OrderedLaneSums {
    Lanes acc = R::template Neutral<T>() - Lanes{};
    Lanes sum = {};
    void Add(Lanes values) {
      acc = R{}.AddOrdered(acc, values);
      sum += values;
    }
    void Merge(const OrderedLaneSums& other) {
      acc = R{}.AddOrdered(acc, other.acc);
      sum += other.sum;
    }
  };

  // Adds elements to four vectors of accumulators and merges these. The vectors are four variables,
  // because the compiler would leave an array of them in memory. Requires a multiple of kLanes
  // elements.
  template <typename Sums>
  static Sums AddLanes(const S* x, int64_t count) {
    constexpr int kLength = kLanes / 4;
    Sums a, b, c, d;
    for (int64_t i = 0; i < count; i += kLanes) {
      Lanes first, second, third, fourth;
      LoadTwo<kLength>(x + i, &first, &second);
      LoadTwo<kLength>(x + i + 2 * kLength, &third, &fourth);
      a.Add(first);
      b.Add(second);
      c.Add(third);
      d.Add(fourth);
    }
    a.Merge(c);
    b.Merge(d);
    a.Merge(b);
    return a;
  }

  // Merges the halves of a vector until one lane is left.
  template <int kLength, typename MergeFn>
  static T MergeLanes(Vector<kLength> lanes, const MergeFn& merge) {
    if constexpr (kLength == 1) {
      return lanes[0];
    } else {
      Vector<kLength / 2> halves[2];
      std::memcpy(halves, &lanes, sizeof(halves));
      return MergeLanes<kLength / 2>(merge(halves[0], halves[1]), merge);
    }
  }

  // Returns the sum of `count` elements, which must be a multiple of kLanes. Every kLanes-th
  // element is added to the same accumulator.
  static T AddWhole(const S* x, int64_t count) {
    const R r{};
    const auto merge = [&r](auto a, auto b) { return r.Merge(a, b); };
    if constexpr (kIsVectorised) {
      constexpr int kLength = kLanes / 4;
      if constexpr (kHasOrder) {
        const auto sums = AddLanes<OrderedLaneSums>(x, count);
        const T sum = MergeLanes<kLength>(sums.sum, [](auto a, auto b) { return a + b; });
        const auto ordered = [&r](auto a, auto b) { return r.AddOrdered(a, b); };
        if (sum == sum) return MergeLanes<kLength>(sums.acc, ordered);
      }
      return MergeLanes<kLength>(AddLanes<LaneSums>(x, count).acc, merge);
    } else {
      T lanes[kLanes];
      std::fill_n(lanes, kLanes, R::template Neutral<T>());
      for (int64_t i = 0; i < count; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lanes[l] = r.Add(lanes[l], x[i + l]);
      }
      for (int step = kLanes / 2; step > 0; step /= 2) {
        for (int l = 0; l < step; ++l) lanes[l] = r.Merge(lanes[l], lanes[l + step]);
      }
      return lanes[0];
    }
  }

  // Adds the vectors of kLength, kLength / 2, ... elements whose sum of lengths is `count`.
  template <int kLength>
  static void AddPieces(const S* x, int64_t count, T* sum) {
    const R r{};
    if constexpr (kLength == 1) {
      if (count > 0) *sum = r.Add(*sum, static_cast<T>(*x));
    } else {
      if (count >= kLength) {
        const Vector<kLength> neutral = R::template Neutral<T>() - Vector<kLength>{};
        const T piece = MergeLanes<kLength>(r.Add(neutral, Load<kLength>(x)),
                                            [&r](auto a, auto b) { return r.Merge(a, b); });
        *sum = r.Merge(*sum, piece);
        x += kLength;
        count -= kLength;
      }
      AddPieces<kLength / 2>(x, count, sum);
    }
  }

  // Returns the sum of a few elements. It is a tree, as in TensorFlow, so that the sum of equal
  // numbers is exact where they are a power of two.
  static T AddFew(const S* x, int64_t count) {
    const R r{};
    T sum = R::template Neutral<T>();
    if constexpr (kIsVectorised) {
      constexpr int kLength = 32 / sizeof(T);
      if (count >= kLength) {
        Vector<kLength> lanes = R::template Neutral<T>() - Vector<kLength>{};
        for (; count >= kLength; count -= kLength, x += kLength) {
          lanes = r.Add(lanes, Load<kLength>(x));
        }
        sum = MergeLanes<kLength>(lanes, [&r](auto a, auto b) { return r.Merge(a, b); });
      }
      AddPieces<kLength / 2>(x, count, &sum);
    } else {
      for (int64_t i = 0; i < count; ++i) sum = r.Add(sum, static_cast<T>(x[i]));
    }
    return sum;
  }

  static void Run(char* acc, const char* in, int64_t count) {
    const R r{};
    const S* const x = Stored(in);
    T result = *Typed(acc);
    if (count < kShortRun) {
      *Typed(acc) = r.Merge(result, AddFew(x, count));
      return;
    }
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, count);
      const int64_t whole = (end - begin) / kLanes * kLanes;
      T sum = AddWhole(x + begin, whole);
      if (begin + whole < end) sum = r.Merge(sum, AddFew(x + begin + whole, end - begin - whole));
      result = r.Merge(result, sum);
    }
    *Typed(acc) = result;
  }

  // Adds the rows to kVectors vectors of columns, which stay in registers. Every kChains-th row
  // goes to the same accumulators, so that additions need not wait for each other.
  template <int kVectors, int kChains, int kBytes>
  static void AddToVectors(T* acc, const char* in, int64_t row_stride, int64_t rows) {
    const R r{};
    constexpr int kLength = kBytes / sizeof(T);
    Vector<kLength> sums[kChains][kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(&sums[0][v], acc + v * kLength, kBytes);
#pragma GCC unroll 4
      for (int c = 1; c < kChains; ++c) sums[c][v] = R::template Neutral<T>() - Vector<kLength>{};
    }
    const auto add = [&](int chain) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[chain][v] = r.Add(sums[chain][v], Load<kLength>(Stored(in) + v * kLength));
      }
      in += row_stride;
    };
    int64_t row = 0;
    for (; row + kChains <= rows; row += kChains) {
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c) add(c);
    }
    for (; row < rows; ++row) add(0);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
      for (int c = 1; c < kChains; ++c) sums[0][v] = r.Merge(sums[0][v], sums[c][v]);
      std::memcpy(acc + v * kLength, &sums[0][v], kBytes);
    }
  }

  // Adds the rows to those columns that fill whole groups of kVectors vectors.
  template <int kVectors, int kBytes>
  static void AddToGroups(T*& acc, const char*& in, int64_t row_stride, int64_t rows,
                          int64_t& columns) {
    constexpr int64_t kGroup = kVectors * kBytes / sizeof(T);
    for (; columns >= kGroup; columns -= kGroup) {
      if (rows > 8 && kVectors < 8) {
        AddToVectors<kVectors, 4, kBytes>(acc, in, row_stride, rows);
      } else {
        AddToVectors<kVectors, 1, kBytes>(acc, in, row_stride, rows);
      }
      acc += kGroup;
      in += kGroup * sizeof(S);
    }
  }

  static void AddToColumns(T* acc, const char* in, int64_t row_stride, int64_t rows,
                           int64_t columns) {
    AddToGroups<8, 32>(acc, in, row_stride, rows, columns);
    AddToGroups<2, 32>(acc, in, row_stride, rows, columns);
    AddToGroups<1, 32>(acc, in, row_stride, rows, columns);
    AddToGroups<1, 16>(acc, in, row_stride, rows, columns);
    AddToGroups<1, 8>(acc, in, row_stride, rows, columns);
    if constexpr (sizeof(T) < 8) AddToGroups<1, sizeof(T)>(acc, in, row_stride, rows, columns);
  }

  static void Rows(char* acc, const char* in, int64_t row_stride, int64_t rows, int64_t columns) {
    T* const a = Typed(acc);
    if constexpr (kIsVectorised && sizeof(T) >= 4) {
      // Rows of many columns are added a few at a time, so that memory is read in its order.
      const int64_t some = columns <= kFewColumns ? rows : 4;
      for (int64_t row = 0; row < rows; row += some) {
        AddToColumns(a, in + row * row_stride, row_stride, std::min(some, rows - row), columns);
      }
      return;
    }
    // Other types are not narrow floats, so that their elements are of the accumulators' type.
    const R r{};
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      const T* const x0 = Typed(in + row * row_stride);
      const T* const x1 = Typed(in + (row + 1) * row_stride);
      const T* const x2 = Typed(in + (row + 2) * row_stride);
      const T* const x3 = Typed(in + (row + 3) * row_stride);
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) {
        a[i] = r.Add(r.Add(r.Add(r.Add(a[i], x0[i]), x1[i]), x2[i]), x3[i]);
      }
    }
    for (; row < rows; ++row) {
      const T* const x = Typed(in + row * row_stride);
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) a[i] = r.Add(a[i], x[i]);
    }
  }

  static void Merge(char* acc, const char* other, int64_t count) {
    const R r{};
    for (int64_t i = 0; i < count; ++i) Typed(acc)[i] = r.Merge(Typed(acc)[i], Typed(other)[i]);
  }

  static void Finish(const char* acc, int64_t count, int64_t reduced, char* out) {
    const R r{};
    if constexpr (std::is_same_v<S, T>) {
      for (int64_t i = 0; i < count; ++i) Typed(out)[i] = r.Result(Typed(acc)[i], reduced);
    } else {
      constexpr int64_t kSome = 64;
      T results[kSome];
      for (int64_t begin = 0; begin < count; begin += kSome) {
        const int64_t some = std::min(kSome, count - begin);
        for (int64_t i = 0; i < some; ++i) results[i] = r.Result(Typed(acc)[begin + i], reduced);
        FromFloat(results, reinterpret_cast<S*>(out) + begin, some);
      }
    }
  }

  static void Runs(const char* in, int64_t count, int64_t runs, char* out) {
    constexpr int64_t kSome = 64;
    T acc[kSome];
    for (int64_t first = 0; first < runs; first += kSome) {
      const int64_t some = std::min(kSome, runs - first);
      for (int64_t i = 0; i < some; ++i) {
        acc[i] = R::template Neutral<T>();
        Run(reinterpret_cast<char*>(&acc[i]), in + (first + i) * count * sizeof(S), count);
      }
      Finish(reinterpret_cast<const char*>(acc), some, count, out + first * sizeof(S));
    }
  }
};

template <typename R, typename T, typename S = T>
constexpr ReductionLoops MakeReductionLoops() {
  using Typed = TypedReduction<R, T, S>;
  return {sizeof(T),     &Typed::Init,   &Typed::Run, &Typed::Rows,
          &Typed::Merge, &Typed::Finish, &Typed::Runs};
}

}  // namespace tessera
