// Inner loops of the reduction engine, from what a reduction does to single elements.
//
//   struct Sum {
//     template <typename T> static T Neutral() { return T{0}; }
//     template <typename T> T Add(T acc, T x) const { return acc + x; }
//     template <typename T> T Merge(T acc, T other) const { return acc + other; }
//     template <typename T> T Result(T acc, int64_t count) const { return acc; }
//   };
//   const ReductionLoops loops = MakeReductionLoops<Sum, float>();
//
// Files that instantiate these are compiled with LOOP_COPTS.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/primitives/cpu/reduction_loop.h"

namespace tessera {

template <typename R, typename T>
struct TypedReduction {
  // Accumulators side by side, so that additions need not wait for each other.
  static constexpr int kLanes = sizeof(T) >= 16 ? 4 : 128 / sizeof(T) > 32 ? 32 : 128 / sizeof(T);
  // Elements after which the lanes are merged: bounds the additions in a row.
  static constexpr int64_t kBlock = 4096;
  // Rows of at most so many columns are added to accumulators in registers.
  static constexpr int64_t kFewColumns = 128;

  static T* Typed(char* data) { return reinterpret_cast<T*>(data); }
  static const T* Typed(const char* data) { return reinterpret_cast<const T*>(data); }

  static void Init(char* acc, int64_t count) {
    std::fill_n(Typed(acc), count, R::template Neutral<T>());
  }

  // Sets `lanes` to what the elements add up to, each kLanes-th to one. Returns how many elements
  // that were: as many as fill all lanes equally.
  static int64_t AddToLanes(const T* x, int64_t count, T* lanes) {
    const R r{};
    for (int l = 0; l < kLanes; ++l) lanes[l] = R::template Neutral<T>();
    int64_t i = 0;
    if constexpr (std::is_arithmetic_v<T> && sizeof(T) >= 4) {
      // Four vectors by name, because the compiler leaves an array of lanes in memory.
      typedef T Lanes __attribute__((vector_size(kLanes / 4 * sizeof(T))));
      Lanes a, b, c, d;
      std::memcpy(&a, lanes, sizeof(Lanes));
      b = c = d = a;
      const auto add = [&r](Lanes sum, const T* from) {
        Lanes values;
        std::memcpy(&values, from, sizeof(Lanes));
        return r.Add(sum, values);
      };
      for (; i + kLanes <= count; i += kLanes) {
        a = add(a, x + i);
        b = add(b, x + i + kLanes / 4);
        c = add(c, x + i + kLanes / 2);
        d = add(d, x + i + kLanes / 4 * 3);
      }
      const Lanes sums[] = {a, b, c, d};
      std::memcpy(lanes, sums, sizeof(sums));
    } else {
      for (; i + kLanes <= count; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lanes[l] = r.Add(lanes[l], x[i + l]);
      }
    }
    return i;
  }

  static void Run(char* acc, const char* in, int64_t count) {
    const R r{};
    const T* x = Typed(in);
    T result = *Typed(acc);
    if (count < 2 * kLanes) {
      for (int64_t i = 0; i < count; ++i) result = r.Add(result, x[i]);
      *Typed(acc) = result;
      return;
    }
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, count);
      T lanes[kLanes];
      int64_t i = begin + AddToLanes(x + begin, end - begin, lanes);
      for (int step = kLanes / 2; step > 0; step /= 2) {
        for (int l = 0; l < step; ++l) lanes[l] = r.Merge(lanes[l], lanes[l + step]);
      }
      for (; i < end; ++i) lanes[0] = r.Add(lanes[0], x[i]);
      result = r.Merge(result, lanes[0]);
    }
    *Typed(acc) = result;
  }

  // Adds the rows to kVectors vectors of columns, which stay in registers. Every kChains-th row
  // goes to the same accumulators, so that additions need not wait for each other.
  template <int kVectors, int kChains, int kBytes>
  static void AddToVectors(T* acc, const char* in, int64_t row_stride, int64_t rows) {
    const R r{};
    constexpr int kLength = kBytes / sizeof(T);
    typedef T Vector __attribute__((vector_size(kBytes)));
    Vector sums[kChains][kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(&sums[0][v], acc + v * kLength, kBytes);
#pragma GCC unroll 4
      for (int c = 1; c < kChains; ++c) sums[c][v] = R::template Neutral<T>() - Vector{};
    }
    const auto add = [&](int chain) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        Vector values;
        std::memcpy(&values, in + v * kBytes, kBytes);
        sums[chain][v] = r.Add(sums[chain][v], values);
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

  // Adds the rows to as many of the columns as fill groups of kVectors vectors.
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
      in += kVectors * kBytes;
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
    if constexpr (std::is_arithmetic_v<T> && sizeof(T) >= 4) {
      // Few rows of many columns at a time, so that memory is read in its order.
      const int64_t some = columns <= kFewColumns ? rows : 4;
      for (int64_t row = 0; row < rows; row += some) {
        AddToColumns(a, in + row * row_stride, row_stride, std::min(some, rows - row), columns);
      }
      return;
    }
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
    for (int64_t i = 0; i < count; ++i) Typed(out)[i] = r.Result(Typed(acc)[i], reduced);
  }
};

template <typename R, typename T>
constexpr ReductionLoops MakeReductionLoops() {
  using Typed = TypedReduction<R, T>;
  return {sizeof(T), &Typed::Init, &Typed::Run, &Typed::Rows, &Typed::Merge, &Typed::Finish};
}

}  // namespace tessera
