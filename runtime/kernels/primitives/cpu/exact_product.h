// What products and convolutions come to in double, for tests.
#pragma once

#include <vector>

#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// Normally distributed floats.
Tensor RandomTensor(const Shape& shape, int seed);

// Each output of Convolve() over NHWC images, in order. `before` is what the output held.
std::vector<double> ExactConvolution(const ConvolutionShape& shape, const PostOps& post_ops,
                                     const Tensor& input, const Tensor& filter, const Tensor& bias,
                                     const Tensor& before);

// Each output of a product of m x k and k x n, or n x k if `transpose_b`.
std::vector<double> ExactProduct(int64_t m, int64_t n, int64_t k, bool transpose_b,
                                 const PostOps& post_ops, const Tensor& a, const Tensor& b,
                                 const Tensor& bias, const Tensor& before);

}  // namespace tessera
