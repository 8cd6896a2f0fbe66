// The primitive of batched matrix products.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/post_ops.h"

namespace tessera {

// The geometry of output[batch] = a[batch] * b[batch]. Each product multiplies row-major matrices
// of m x k and k x n.
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

  friend bool operator==(const MatMulShape&, const MatMulShape&) = default;
};

// Tells whether a run multiplies by the same weights once, or in each step of a loop.
enum class WeightUse { kOnceARun, kEachStep };

// The products of one kernel. It keeps what it derives from constant weights, such as a packed or
// an uploaded copy of them.
//
//   explicit MatMulKernel(const KernelBuild& build)
//       : product_(Primitive<MatMul>(build)(build, /*b_input=*/1)) {}
//   ...
//   return product_->Run(ctx, shape, PostOps(), ctx.input(0), ctx.input(1), {}, output);
//
// KernelBuild::numerics() says how exact the products are. Thread-safe.
class MatMul {
 public:
  // Makes the products of the kernel whose right-hand side comes from input `b_input`.
  using Function = std::unique_ptr<MatMul>(const KernelBuild& build, int b_input);
  virtual ~MatMul() = default;

  // If the input is a constant matrix, derives from it what its products need, whatever their
  // number of rows. OpKernel::Prepare() calls this in kernels that multiply by the unchanged input.
  // Where the best form depends on the number of rows, as happens with fast numerics on most
  // processors unless the product comes again in each step, the first run that needs a form derives
  // that form. Errors: RESOURCE_EXHAUSTED.
  virtual absl::Status Prepare(const PrepareContext& context, bool transpose_b, WeightUse use) = 0;
  // Does the same for kernels that multiply by the rows [first, end) of the input.
  virtual absl::Status PrepareRows(const PrepareContext& /*context*/, int64_t /*first*/,
                                   int64_t /*end*/, WeightUse /*use*/) {
    return absl::OkStatus();
  }

  // Computes output = activation(a * b + bias + addend). All tensors have one dtype, which is a
  // real or a complex number; only real numbers have activations. `b` is the kernel's input, or is
  // computed from it in this run. `output` is allocated, and overlaps neither operand. With k == 0
  // the product is 0. Infinities and NaNs spread as in sums of products.
  // Errors: UNIMPLEMENTED for other dtypes; RESOURCE_EXHAUSTED for scratch memory.
  virtual absl::Status Run(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                           const Tensor& a, const Tensor& b, const PostOpInputs& inputs,
                           Tensor* output) = 0;
};

}  // namespace tessera
