// Plans of batch normalisation in training and of its gradient for cuDNN.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/cuda/cudnn_graph.h"

namespace tessera::cuda {

// The problem that a plan solves.
struct BatchNormProblem {
  enum Tensors : int64_t {
    kX = 1,
    kY,
    kScale,
    kOffset,
    kMean,
    kInverseDeviation,
    kOldMean,
    kOldVariance,
    kNewMean,
    kNewVariance,
    kEpsilon,  // scalars
    kShare,
    kDy,  // of the gradient
    kDx,
    kDscale,
    kDoffset,
  };

  ChannelShape shape;
  DType dtype;  // of x and y
  bool is_gradient = false;

  friend bool operator==(const BatchNormProblem& a, const BatchNormProblem& b) {
    return a.shape.outer == b.shape.outer && a.shape.channels == b.shape.channels &&
           a.shape.inner == b.shape.inner && a.dtype == b.dtype && a.is_gradient == b.is_gradient;
  }
  template <typename H>
  friend H AbslHashValue(H h, const BatchNormProblem& p) {
    return H::combine(std::move(h), p.shape.outer, p.shape.channels, p.shape.inner, p.dtype,
                      p.is_gradient);
  }
};

// Errors: INTERNAL for what cuDNN cannot describe.
absl::StatusOr<CudnnGraph> DescribeBatchNorm(const Cudnn& cudnn, const BatchNormProblem& problem,
                                             cudnnDataType_t type);

}  // namespace tessera::cuda
