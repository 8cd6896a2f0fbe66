// Inner loops of the strided-loop engine. They apply a scalar function to a block of elements, in
// forms that the compiler vectorises.
//
// Files that instantiate these are compiled with LOOP_COPTS (runtime/kernels/kernel_library.bzl).
// Everything here is separate for each instruction set, because such a file may be compiled again
// for a wider one, and the process chooses between the tables of loops when it starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/strided_loop.h"

namespace tessera {

// A loop over a block whose operands have fixed types.
using LoopFn = void (*)(const LoopBlock&);

// True for element types that get vectorised loops. Other types are rare and have one plain loop.
template <typename T>
inline constexpr bool kVectorised =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
    std::is_same_v<T, int64_t> || std::is_same_v<T, bool> || std::is_same_v<T, uint8_t>;

template <typename T>
T& ElementAt(char* data, int64_t offset) {
  return *reinterpret_cast<T*>(data + offset);
}

// True for a block of one element, which needs none of the loops below. Small models compute mostly
// with scalars.
inline bool IsOneElement(const LoopBlock& b) { return b.columns == 1 && b.rows == 1; }

// The loop of z = f(x).
template <typename F, typename R, typename X>
void UnaryLoop(const LoopBlock& b) {
  const F f{};
  const int64_t columns = b.columns;  // a copy: bytes that are stored might be it
  if constexpr (kVectorised<X>) {
    if (IsOneElement(b)) {
      ElementAt<R>(b.data[0], 0) = static_cast<R>(f(ElementAt<const X>(b.data[1], 0)));
      return;
    }
  }
  for (int64_t row = 0; row < b.rows; ++row) {
    char* const z = b.data[0] + row * b.row_stride[0];
    char* const x = b.data[1] + row * b.row_stride[1];
    if constexpr (kVectorised<X>) {
      if (b.column_stride[0] == sizeof(R) && b.column_stride[1] == sizeof(X)) {
        R* const zs = reinterpret_cast<R*>(z);
        const X* const xs = reinterpret_cast<const X*>(x);
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(xs[i]));
        continue;
      }
    }
    for (int64_t i = 0; i < columns; ++i) {
      ElementAt<R>(z, i * b.column_stride[0]) =
          static_cast<R>(f(ElementAt<const X>(x, i * b.column_stride[1])));
    }
  }
}

// The loop of z = f(x, y).
template <typename F, typename R, typename X, typename Y>
void BinaryLoop(const LoopBlock& b) {
  const F f{};
  const int64_t columns = b.columns;  // a copy: bytes that are stored might be it
  if constexpr (kVectorised<X>) {
    if (IsOneElement(b)) {
      ElementAt<R>(b.data[0], 0) =
          static_cast<R>(f(ElementAt<const X>(b.data[1], 0), ElementAt<const Y>(b.data[2], 0)));
      return;
    }
  }
  const int64_t sz = b.column_stride[0], sx = b.column_stride[1], sy = b.column_stride[2];
  for (int64_t row = 0; row < b.rows; ++row) {
    char* const z = b.data[0] + row * b.row_stride[0];
    char* const x = b.data[1] + row * b.row_stride[1];
    char* const y = b.data[2] + row * b.row_stride[2];
    if constexpr (kVectorised<X>) {
      R* const zs = reinterpret_cast<R*>(z);
      const X* const xs = reinterpret_cast<const X*>(x);
      const Y* const ys = reinterpret_cast<const Y*>(y);
      if (sz == sizeof(R) && sx == sizeof(X) && sy == sizeof(Y)) {
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(xs[i], ys[i]));
        continue;
      }
      if (sz == sizeof(R) && sx == sizeof(X) && sy == 0) {
        const Y y0 = *ys;
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(xs[i], y0));
        continue;
      }
      if (sz == sizeof(R) && sx == 0 && sy == sizeof(Y)) {
        const X x0 = *xs;
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(x0, ys[i]));
        continue;
      }
    }
    for (int64_t i = 0; i < columns; ++i) {
      ElementAt<R>(z, i * sz) =
          static_cast<R>(f(ElementAt<const X>(x, i * sx), ElementAt<const Y>(y, i * sy)));
    }
  }
}

// The loop of z = f(w, x, y).
template <typename F, typename R, typename W, typename X, typename Y>
void TernaryLoop(const LoopBlock& b) {
  const F f{};
  const int64_t columns = b.columns;  // a copy: bytes that are stored might be it
  const int64_t sz = b.column_stride[0], sw = b.column_stride[1], sx = b.column_stride[2],
                sy = b.column_stride[3];
  for (int64_t row = 0; row < b.rows; ++row) {
    char* const z = b.data[0] + row * b.row_stride[0];
    char* const w = b.data[1] + row * b.row_stride[1];
    char* const x = b.data[2] + row * b.row_stride[2];
    char* const y = b.data[3] + row * b.row_stride[3];
    if constexpr (kVectorised<X>) {
      R* const zs = reinterpret_cast<R*>(z);
      const W* const ws = reinterpret_cast<const W*>(w);
      const X* const xs = reinterpret_cast<const X*>(x);
      const Y* const ys = reinterpret_cast<const Y*>(y);
      if (sz == sizeof(R) && sw == sizeof(W) && sx == sizeof(X) && sy == sizeof(Y)) {
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(ws[i], xs[i], ys[i]));
        continue;
      }
      if (sz == sizeof(R) && sw == sizeof(W) && sx == 0 && sy == sizeof(Y)) {
        const X x0 = *xs;
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(ws[i], x0, ys[i]));
        continue;
      }
      if (sz == sizeof(R) && sw == sizeof(W) && sx == sizeof(X) && sy == 0) {
        const Y y0 = *ys;
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(ws[i], xs[i], y0));
        continue;
      }
      if (sz == sizeof(R) && sw == sizeof(W) && sx == 0 && sy == 0) {
        const X x0 = *xs;
        const Y y0 = *ys;
#pragma GCC ivdep
        for (int64_t i = 0; i < columns; ++i) zs[i] = static_cast<R>(f(ws[i], x0, y0));
        continue;
      }
    }
    for (int64_t i = 0; i < columns; ++i) {
      ElementAt<R>(z, i * sz) =
          static_cast<R>(f(ElementAt<const W>(w, i * sw), ElementAt<const X>(x, i * sx),
                           ElementAt<const Y>(y, i * sy)));
    }
  }
}

// The number of elements that a loop of a costly function computes at once. The last elements of a
// row are padded to this number, so that a value does not depend on its position: the vector
// functions of the C library differ from its scalar ones in the last bits.
inline constexpr int64_t kVectorElements = 16;

// Returns true if the loads of a loop that ascends would wait for its stores. A processor that
// compares addresses by their low 12 bits takes a load for one of bytes that were just stored, if
// the result begins a little further in its page than the operand does. On Zen 4 that made loops of
// 512-bit vectors take up to 1.5 times as long. Loops that descend do not wait then.
inline bool LoadsWaitForStores(const void* operand, const void* result) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t distance =
      (reinterpret_cast<uintptr_t>(result) - reinterpret_cast<uintptr_t>(operand)) % kPage;
  return distance != 0 && distance < kPage / 2;
}

// The body of loops of costly functions of one or two operands. T is float or double, and the type
// of the result.
template <typename F, int kArgs, typename T>
[[gnu::always_inline]] inline void ComputeVectors(const LoopBlock& b) {
  const F f{};
  auto compute = [&f](const T* x, const T* y, T* z) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < kVectorElements; ++i) {
      if constexpr (kArgs == 1) {
        z[i] = f(x[i]);
      } else {
        z[i] = f(x[i], y[i]);
      }
    }
  };
  // True if the arguments are contiguous, or a single number for all columns.
  bool is_direct = b.column_stride[0] == sizeof(T);
  for (int operand = 1; operand <= kArgs; ++operand) {
    const int64_t stride = b.column_stride[operand];
    is_direct = is_direct && (stride == sizeof(T) || stride == 0);
  }
  for (int64_t row = 0; row < b.rows; ++row) {
    char* operands[kArgs + 1];
    for (int i = 0; i <= kArgs; ++i) operands[i] = b.data[i] + row * b.row_stride[i];
    int64_t first = 0;
    if (is_direct && b.columns >= kVectorElements) {
      T repeated[kArgs + 1][kVectorElements];
      for (int operand = 1; operand <= kArgs; ++operand) {
        std::fill_n(repeated[operand], kVectorElements, ElementAt<const T>(operands[operand], 0));
      }
      const T* arguments[kArgs + 1];
      int64_t strides[kArgs + 1];
      for (int operand = 1; operand <= kArgs; ++operand) {
        const bool is_one = b.column_stride[operand] == 0;
        arguments[operand] =
            is_one ? repeated[operand] : reinterpret_cast<const T*>(operands[operand]);
        strides[operand] = is_one ? 0 : 1;
      }
      T* const results = reinterpret_cast<T*>(operands[0]);
      const int64_t vectors = b.columns / kVectorElements;
      const bool descends = LoadsWaitForStores(arguments[strides[1] == 1 ? 1 : kArgs], results);
      int64_t position = descends ? (vectors - 1) * kVectorElements : 0;
      const int64_t step = descends ? -kVectorElements : kVectorElements;
      for (int64_t i = 0; i < vectors; ++i, position += step) {
        compute(arguments[1] + position * strides[1], arguments[kArgs] + position * strides[kArgs],
                results + position);
      }
      first = vectors * kVectorElements;
    }
    for (; first < b.columns; first += kVectorElements) {
      T values[kArgs + 1][kVectorElements] = {};
      const int64_t last = std::min(first + kVectorElements, b.columns);
      for (int operand = 1; operand <= kArgs; ++operand) {
        for (int64_t i = first; i < last; ++i) {
          values[operand][i - first] =
              ElementAt<const T>(operands[operand], i * b.column_stride[operand]);
        }
      }
      compute(values[1], values[kArgs], values[0]);
      for (int64_t i = first; i < last; ++i) {
        ElementAt<T>(operands[0], i * b.column_stride[0]) = values[0][i - first];
      }
    }
  }
}

template <typename F, int kArgs, typename T>
void VectorLoop(const LoopBlock& b) {
  ComputeVectors<F, kArgs, T>(b);
}

template <typename F, int kArgs, typename T>
TESSERA_AVX512 void WideVectorLoop(const LoopBlock& b) {
  ComputeVectors<F, kArgs, T>(b);
}

// Returns true if Check is true for any element of the operand, whose type is T.
template <typename Check, typename T>
bool AnyFails(const LoopBlock& b, int operand) {
  const Check fails{};
  const int64_t step = b.column_stride[operand], row_step = b.row_stride[operand];
  const int64_t columns = step == 0 ? 1 : b.columns, rows = row_step == 0 ? 1 : b.rows;
  bool any = false;
  for (int64_t row = 0; row < rows; ++row) {
    char* const x = b.data[operand] + row * row_step;
    for (int64_t i = 0; i < columns; ++i) any |= fails(ElementAt<const T>(x, i * step));
  }
  return any;
}

}  // namespace tessera
