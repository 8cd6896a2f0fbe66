// Pools, normalisations and attention by cuDNN, for what it has. Where there is no GPU, in tests, a
// stand-in does the same on the host or takes nothing (testing/library_stand_in.h).
//
// Each function returns false, and does nothing, if the library does not take the call; the kernels
// of this folder then do it. No tensor is empty.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/pooling.h"

namespace tessera::cuda {

enum class PoolMode {
  kMax,              // as MaxPool
  kAverage,          // as AveragePool
  kAverageGradient,  // as AveragePoolGradient
};
// A pool of `from`, or the gradient of one, to `to`.
absl::StatusOr<bool> PoolByLibrary(KernelContext& ctx, PoolMode mode, const PoolShape& shape,
                                   const Tensor& from, const Tensor& to);

// Batch normalisation by a batch's own moments. Vectors are of float.
struct LibraryBatchNorm {
  ChannelShape shape;
  float epsilon = 0;
  const Tensor& x;  // half, bfloat16 or float
  const Tensor& scale;
  const Tensor& offset;
  const Tensor& zeros;  // a vector of zeros
  const Tensor& y;      // of the dtype of x
  const Tensor& mean;
  const Tensor& inverse_deviation;  // 1 / sqrt(variance + epsilon)
  const Tensor& moving_mean;        // the mean once more
  const Tensor& unbiased_variance;  // with Bessel's correction; there are at least two points
};
absl::StatusOr<bool> BatchNormByLibrary(KernelContext& ctx, const LibraryBatchNorm& operands);

struct LibraryBatchNormGradient {
  ChannelShape shape;
  const Tensor& dy;  // half, bfloat16 or float, as x and dx
  const Tensor& x;
  const Tensor& scale;
  const Tensor& mean;
  const Tensor& inverse_deviation;
  const Tensor& dx;
  const Tensor& dscale;
  const Tensor& doffset;
};
absl::StatusOr<bool> BatchNormGradientByLibrary(KernelContext& ctx,
                                                const LibraryBatchNormGradient& operands);

// A bias of attention, which is added to the scores: a tensor of rank 4 whose dimensions are those
// of the scores, or 1 where it is broadcast. Of float, or of the dtype of the queries.
struct AttentionBias {
  const Tensor& values;
  Shape shape;  // [images, heads, queries, keys]
};
// Attention of half or bfloat16 as Attention, but with the bias, which may be null, in place of
// the masks of `inputs`.
absl::StatusOr<bool> AttendByLibrary(KernelContext& ctx, const AttentionInputs& inputs,
                                     const AttentionBias* bias, const Tensor& output);

}  // namespace tessera::cuda
