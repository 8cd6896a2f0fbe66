// Plans of convolutions for cuDNN.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cuda/cudnn_graph.h"
#include "runtime/kernels/primitives/cuda/product_library.h"
#include "runtime/kernels/primitives/post_ops.h"

namespace tessera::cuda {

// A convolution of tensors of one dtype: what plans are made for.
struct ConvolutionProblem {
  enum Tensors : int64_t { kX = 1, kFilter, kY, kBias, kAddend };

  ConvolutionDirection direction;
  ConvolutionShape shape;
  DType dtype;
  PostOps post_ops = PostOps();  // of a forward convolution

  friend bool operator==(const ConvolutionProblem&, const ConvolutionProblem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ConvolutionProblem& p) {
    const ConvolutionShape& s = p.shape;
    return H::combine(std::move(h), static_cast<int>(p.direction), p.dtype, s.batch, s.in_channels,
                      s.out_channels, s.groups, s.input, s.filter, s.output, s.strides, s.dilations,
                      s.pad_before, s.pad_after, s.channels_first, p.post_ops.bias, p.post_ops.add,
                      static_cast<int>(p.post_ops.activation), p.post_ops.alpha);
  }
};

// The convolution, then the addend, the bias and the activation. Errors: INTERNAL for what cuDNN
// cannot describe.
absl::StatusOr<CudnnGraph> DescribeConvolution(const Cudnn& cudnn,
                                               const ConvolutionProblem& problem,
                                               cudnnDataType_t type);

}  // namespace tessera::cuda
