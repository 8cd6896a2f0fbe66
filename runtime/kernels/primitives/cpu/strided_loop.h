// The engine under all elementwise loops of the CPU. It cuts operands of any shape into rectangles
// for typed inner loops (runtime/kernels/primitives/cpu/typed_loop.h), which know only strides.
//
//   RunStridedLoop(std::move(operands), pool, /*cost_per_element=*/0.3, inner_loop);
#pragma once

#include "absl/functional/function_ref.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/strided_operands.h"

namespace tessera {

// Computes one block. Several threads call it at once for disjoint blocks.
using InnerLoop = absl::FunctionRef<void(const LoopBlock&)>;

// Calls `inner` for blocks that cover all elements, on several threads if that pays; `pool` may be
// null.
void RunStridedLoop(StridedOperands operands, ThreadPool* pool, double cost_per_element,
                    InnerLoop inner);

}  // namespace tessera
