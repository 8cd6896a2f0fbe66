// The engine under all elementwise kernels: a loop over operands of any shape, which is cut into
// rectangles for typed inner loops (runtime/kernels/primitives/cpu/typed_loop.h).
//
//   StridedLoop loop(shape.dims());
//   loop.AddOperand(out, RowMajorByteStrides(shape, 4));
//   loop.AddOperand(x, BroadcastByteStrides(x_shape, shape, 4));
//   loop.Run(pool, /*cost_per_element=*/0.3, inner_loop);
//
// Ranks and broadcasting end here: dimensions that all operands walk through without a gap are
// merged first, so that most loops have one dimension or two, and an inner loop sees strides only.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "runtime/base/thread_pool.h"
#include "runtime/tensor/shape.h"

namespace tessera {

inline constexpr int kMaxOperands = 4;

// `rows` times `columns` elements of each operand; operand 0 is the result. Strides count bytes, 0
// repeats an element. The result's element may be the very element of an operand at the same place
// (work in place), but overlaps no other.
struct LoopBlock {
  char* data[kMaxOperands];
  int64_t column_stride[kMaxOperands];
  int64_t row_stride[kMaxOperands];
  int64_t columns;
  int64_t rows;
};

// Computes the block. Called by several threads at once for disjoint blocks.
using InnerLoop = absl::FunctionRef<void(const LoopBlock&)>;

using ByteStrides = absl::InlinedVector<int64_t, 6>;

// Strides of a row-major array of `element_size` bytes an element.
ByteStrides RowMajorByteStrides(const Shape& shape, int64_t element_size);
// Strides that let an array of `shape` be read as one of `result`, to which it broadcasts.
ByteStrides BroadcastByteStrides(const Shape& shape, const Shape& result, int64_t element_size);

class StridedLoop {
 public:
  explicit StridedLoop(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  // Operand 0 first. `strides` has one entry a dimension. At most kMaxOperands.
  void AddOperand(const void* data, absl::Span<const int64_t> strides);

  // Calls `inner` for blocks that cover all elements, on several threads if that pays; `pool` may
  // be null. Consumes the loop.
  void Run(ThreadPool* pool, double cost_per_element, InnerLoop inner);

 private:
  void Coalesce();
  void RunRange(int64_t begin, int64_t end, InnerLoop inner) const;

  absl::InlinedVector<int64_t, 6> dims_;
  int num_operands_ = 0;
  char* data_[kMaxOperands];
  ByteStrides strides_[kMaxOperands];
};

}  // namespace tessera
