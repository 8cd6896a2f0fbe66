// The engine under all reductions: sums, products, extremes, norms over any axes.
//
//   const ReductionLoops& loops = ...;                       // of an op for a dtype
//   ReductionPlan plan(shape, reduced_axes);                 // which elements fall together
//   RunReduction(plan, loops, dtype, in, out, pool);
//
// Neighbouring axes that are both kept or both reduced are merged first. The last group of axes
// then decides the inner loop: if it is reduced, a run of elements goes into one accumulator; if it
// is kept, rows of elements go into a row of accumulators. Long reductions are cut into parts of
// fixed size whose accumulators are merged in order: results do not depend on the number of
// threads, and rounding errors stay small.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/base/thread_pool.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The typed inner loops of one reduction for one dtype; see
// runtime/kernels/primitives/cpu/typed_reduction.h. An accumulator takes `size` bytes; accumulators
// of half and bfloat16 are floats.
struct ReductionLoops {
  int64_t size;
  // Sets `count` accumulators to the neutral element.
  void (*init)(char* acc, int64_t count);
  // Adds `count` contiguous elements to one accumulator.
  void (*run)(char* acc, const char* in, int64_t count);
  // Adds `rows` rows of `columns` contiguous elements, `row_stride` bytes apart, to `columns`
  // accumulators.
  void (*rows)(char* acc, const char* in, int64_t row_stride, int64_t rows, int64_t columns);
  // Adds the `count` accumulators at `other` to those at `acc`.
  void (*merge)(char* acc, const char* other, int64_t count);
  // Stores the results of `count` accumulators, each of `reduced` elements. `out` may be `acc` if
  // elements and accumulators are of one type.
  void (*finish)(const char* acc, int64_t count, int64_t reduced, char* out);
  // Stores the results of `runs` runs of `count` elements, which lie one after the other.
  void (*runs)(const char* in, int64_t count, int64_t runs, char* out);
};

// A shape with some axes reduced, as alternating groups of axes.
class ReductionPlan {
 public:
  // `reduced` has one entry for each axis.
  ReductionPlan(const Shape& shape, absl::Span<const bool> reduced);

  int64_t num_outputs() const { return num_outputs_; }
  // The number of elements that are reduced to one output.
  int64_t num_reduced() const { return num_reduced_; }

  struct Axis {
    int64_t size;
    int64_t stride;  // in elements
  };
  using Axes = absl::InlinedVector<Axis, 4>;

  // All kept groups but the columns, and all reduced groups but the rows.
  const Axes& kept() const { return kept_; }
  const Axes& reduced() const { return reduced_; }
  // The size of the last group if it is kept, otherwise 1.
  int64_t columns() const { return columns_; }
  // The size of the last reduced group, or 1 if there is none.
  int64_t rows() const { return rows_; }

  // Returns the offset, from the first element, of the element with the row-major index `index`
  // over `axes`.
  static int64_t Offset(const Axes& axes, int64_t index);

 private:
  Axes kept_;
  Axes reduced_;
  int64_t columns_ = 1;
  int64_t rows_ = 1;
  int64_t num_outputs_ = 1;
  int64_t num_reduced_ = 1;
};

// Reduces the elements at `in`. Requires space for plan.num_outputs() elements at `out`. The loops
// are those for `dtype`. `pool` may be null.
void RunReduction(const ReductionPlan& plan, const ReductionLoops& loops, DType dtype,
                  const char* in, char* out, ThreadPool* pool);

}  // namespace tessera
