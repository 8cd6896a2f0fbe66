// Reference results of products and convolutions, computed in double, for tests.
#pragma once

#include <vector>

#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Returns normally distributed floats.
Tensor RandomTensor(const Shape& shape, int seed);

// Returns the outputs of Convolution::Run() over NHWC images, in order. `before` is the addend.
std::vector<double> ReferenceConvolution(const ConvolutionShape& shape, const PostOps& post_ops,
                                         const Tensor& input, const Tensor& filter,
                                         const Tensor& bias, const Tensor& before);

// Returns the outputs of a product of m x k and k x n, or n x k if `transpose_b`.
std::vector<double> ReferenceMatMul(int64_t m, int64_t n, int64_t k, bool transpose_b,
                                    const PostOps& post_ops, const Tensor& a, const Tensor& b,
                                    const Tensor& bias, const Tensor& before);

}  // namespace tessera
