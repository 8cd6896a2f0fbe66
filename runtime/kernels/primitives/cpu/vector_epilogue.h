// Vector code that the micro-kernels share: loads of weights, and the epilogue.
#pragma once

#include <limits>

#include "runtime/kernels/primitives/cpu/micro_kernel.h"
#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::gemm::TESSERA_VECTOR_ABI {

// The lanes of a vector that hold columns: the first `count`, which may be negative, or more than a
// vector has.
class ColumnLanes {
 public:
  explicit ColumnLanes(int64_t count)
      : count_(count < 0 ? 0 : static_cast<int>(count < kLanes ? count : kLanes)) {}

  // Returns the floats of these lanes, and zeros in the others, which are not read.
  Vector Load(const float* from) const {
    return is_whole() ? tessera::Load(from) : LoadFirst(from, count_);
  }
  void Store(Vector x, float* to) const {
    is_whole() ? tessera::Store(x, to) : StoreFirst(x, to, count_);
  }

 private:
  // Stores by a mask take some twenty cycles on some processors without AVX-512.
  bool is_whole() const { return kLanes == 8 && count_ == kLanes; }

  const int count_;
};

// Loads the first `count` lanes from floats that are `step` apart. The other lanes are 0.
static inline Vector LoadStepped(const float* from, int64_t step, int64_t count) {
  if (step == 1) return ColumnLanes(count).Load(from);
  float values[kLanes] = {};
  for (int64_t i = 0; i < kLanes && i < count; ++i) values[i] = from[i * step];
  return Load(values);
}

// Applies the epilogue, without its activation, to a sum. The value to add is at `to`.
static inline Vector ApplyEpilogue(const Epilogue& epilogue, Vector sum, Vector bias,
                                   const ColumnLanes& lanes, const float* to) {
  sum += bias;
  if (epilogue.add) sum += lanes.Load(to);
  // NaN is the second operand, and passes through.
  return Min(Broadcast(epilogue.high), Max(Broadcast(epilogue.low), sum));
}

// Returns the bias of the columns of `lanes` from `column` on, or zeros if there is no bias.
static inline Vector BiasOf(const Epilogue& epilogue, int64_t column, const ColumnLanes& lanes) {
  return epilogue.bias == nullptr ? Vector{} : lanes.Load(epilogue.bias + column);
}

// Applies the epilogue to sums in rows of kColumns. With kInPlace the values stay in `sums`,
// otherwise they are stored at their row offsets.
template <int64_t kColumns, bool kInPlace>
static void Finish(const Epilogue& epilogue, int64_t count, int64_t columns,
                   const int64_t* row_offsets, float* out, float* sums) {
  for (int64_t first = 0; first < columns && first < kColumns; first += kLanes) {
    const ColumnLanes lanes(columns - first);
    const Vector bias = BiasOf(epilogue, first, lanes);
    for (int64_t i = 0; i < count; ++i) {
      if (row_offsets[i] < 0) continue;
      float* const sum = sums + i * kColumns + first;
      float* const to = out + row_offsets[i] + first;
      const Vector x = ApplyEpilogue(epilogue, Load(sum), bias, lanes, to);
      kInPlace ? Store(x, sum) : lanes.Store(x, to);
    }
  }
}

// Applies the epilogue to `count` rows of kColumns sums and stores them from column `first` on.
// `columns` is the number of columns of the whole product. The other arguments are those of
// MultiplyBlock().
template <int64_t kColumns>
static inline void StoreBlock(const Epilogue& epilogue, int64_t first, int64_t count,
                              int64_t columns, const int64_t* row_offsets, float* out,
                              float* sums) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  columns -= first;
  Epilogue end = epilogue;
  if (end.bias != nullptr) end.bias += first;
  out += first;
  if (end.activate != nullptr) {
    Finish<kColumns, true>(end, count, columns, row_offsets, out, sums);
    end.activate(end.alpha, sums, count * kColumns);
    end = Epilogue{.low = -kInfinity, .high = kInfinity};
  }
  Finish<kColumns, false>(end, count, columns, row_offsets, out, sums);
}

}  // namespace tessera::gemm::TESSERA_VECTOR_ABI
