// Batched matrix products, the one place where they are computed.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// output[batch] = a[batch] * b[batch], each m x k times k x n, row-major.
struct MatMulShape {
  int64_t m = 0, n = 0, k = 0;
  // The operand lies in memory as k x m (n x k) instead.
  bool transpose_a = false, transpose_b = false;
  // Complex operands are conjugated.
  bool conjugate_a = false, conjugate_b = false;
  // Batch dimensions, and how many matrices further the next index of each is in a and b: 0 where
  // an operand is broadcast. The output has them all, in order.
  absl::InlinedVector<int64_t, 4> batch;
  absl::InlinedVector<int64_t, 4> a_step, b_step;

  int64_t batch_size() const {
    int64_t size = 1;
    for (int64_t d : batch) size *= d;
    return size;
  }
};

// output = activation(product + bias + output), where `bias` (n elements) is null unless
// post_ops.bias, and what `output` held before counts only if post_ops.add. a, b and output have
// one dtype: a real or complex number. With k == 0 the product is 0. If `packed` is not null b is
// taken as constant and, where that is faster, packed once. Errors: UNIMPLEMENTED for other dtypes;
// RESOURCE_EXHAUSTED for scratch memory.
absl::Status MatMul(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                    const Tensor& a, const Tensor& b, const Tensor* bias, PackedWeights* packed,
                    Tensor* output);

}  // namespace tessera
