// Batched matrix products.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// output[batch] = a[batch] * b[batch]. Each is a row-major product of m x k by k x n.
struct MatMulShape {
  int64_t m = 0, n = 0, k = 0;
  // True if the operand is stored as k x m (or n x k).
  bool transpose_a = false, transpose_b = false;
  // True if a complex operand is conjugated.
  bool conjugate_a = false, conjugate_b = false;
  // The batch dimensions of the output, and for each of them the distance, in matrices, between
  // consecutive indices in a and b. The distance is 0 where an operand is broadcast.
  absl::InlinedVector<int64_t, 4> batch;
  absl::InlinedVector<int64_t, 4> a_stride, b_stride;

  int64_t batch_size() const {
    int64_t size = 1;
    for (int64_t d : batch) size *= d;
    return size;
  }
};

// output = activation(product + bias + output). `bias` has n elements, and is null unless
// post_ops.bias. The previous content of `output` is added only if post_ops.add. a, b and output
// have one dtype, which is a real or complex number. With k == 0 the product is 0. If `packed` is
// not null, `b` is taken as constant and, where that is faster, packed once. Errors: UNIMPLEMENTED
// for other dtypes; RESOURCE_EXHAUSTED for scratch memory.
absl::Status MatMul(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                    const Tensor& a, const Tensor& b, const Tensor* bias, PackedWeights* packed,
                    Tensor* output, Numerics numerics = Numerics::kFast);

// Packs the constant matrix `b` in the format that products with it use whatever their number of
// rows; does nothing if there is none. Errors: RESOURCE_EXHAUSTED.
absl::Status PackMatMulWeights(KernelContext& ctx, const Tensor& b, bool transpose_b,
                               Numerics numerics, PackedWeights* packed);

}  // namespace tessera
