// Vector code that the micro-kernels share: loads of weights, and the epilogue.
#pragma once

#include <limits>

#include "runtime/kernels/primitives/cpu/fma_vector.h"
#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera::gemm::TESSERA_FMA_ABI {

// Loads the first `count` lanes from floats that are `step` apart. The other lanes are 0.
static inline Floats Load(const float* from, int64_t step, int64_t count) {
  if (step == 1) return FirstLanes(count).Load(from);
  float values[kLanes] = {};
  for (int64_t i = 0; i < kLanes && i < count; ++i) values[i] = from[i * step];
  return LoadFloats(values);
}

// Applies the epilogue, without its activation, to a sum. The value to add is at `to`.
static inline Floats ApplyEpilogue(const Epilogue& epilogue, Floats sum, Floats bias,
                                   const FirstLanes& lanes, const float* to) {
  sum += bias;
  if (epilogue.add) sum += lanes.Load(to);
  // NaN is the second operand, and passes through.
  return Least(All(epilogue.high), Greatest(All(epilogue.low), sum));
}

// Returns the bias of the columns of `lanes` from `column` on, or zeros if there is no bias.
static inline Floats BiasOf(const Epilogue& epilogue, int64_t column, const FirstLanes& lanes) {
  return epilogue.bias == nullptr ? Floats{} : lanes.Load(epilogue.bias + column);
}

// Applies the epilogue to sums in rows of kColumns. With kInPlace the values stay in `sums`,
// otherwise they are stored at their row offsets.
template <int64_t kColumns, bool kInPlace>
static void Finish(const Epilogue& epilogue, int64_t count, int64_t columns,
                   const int64_t* row_offsets, float* out, float* sums) {
  for (int64_t first = 0; first < columns && first < kColumns; first += kLanes) {
    const FirstLanes lanes(columns - first);
    const Floats bias = BiasOf(epilogue, first, lanes);
    for (int64_t i = 0; i < count; ++i) {
      if (row_offsets[i] < 0) continue;
      float* const sum = sums + i * kColumns + first;
      float* const to = out + row_offsets[i] + first;
      const Floats x = ApplyEpilogue(epilogue, LoadFloats(sum), bias, lanes, to);
      kInPlace ? StoreFloats(x, sum) : lanes.Store(x, to);
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

}  // namespace tessera::gemm::TESSERA_FMA_ABI
