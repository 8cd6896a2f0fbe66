#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/testing/random_floats.h"

namespace tessera {
namespace {

// Applies the post-ops to the sum of output i.
double End(const PostOps& post_ops, double sum, float bias, float before) {
  if (post_ops.bias) sum += bias;
  if (post_ops.add) sum += before;
  return Apply(post_ops.activation, post_ops.alpha, sum);
}

}  // namespace

Tensor RandomTensor(const Shape& shape, int seed) {
  Tensor tensor = Tensor::Allocate(DType::kFloat, shape).value();
  std::ranges::copy(RandomFloats(tensor.num_elements(), seed), tensor.data<float>());
  return tensor;
}

std::vector<double> ReferenceConvolution(const ConvolutionShape& s, const PostOps& post_ops,
                                         const Tensor& input, const Tensor& filter,
                                         const Tensor& bias, const Tensor& before) {
  const float* const in = input.data<float>();
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  std::vector<double> result;
  for (int64_t point = 0; point < s.batch * s.output[0] * s.output[1]; ++point) {
    const int64_t image = point / (s.output[0] * s.output[1]);
    const int64_t row = point / s.output[1] % s.output[0], column = point % s.output[1];
    std::vector<double> sums(s.out_channels);
    for (int64_t position = 0; position < s.filter[0] * s.filter[1]; ++position) {
      const int64_t y =
          row * s.strides[0] - s.pad_before[0] + position / s.filter[1] * s.dilations[0];
      const int64_t x =
          column * s.strides[1] - s.pad_before[1] + position % s.filter[1] * s.dilations[1];
      if (y < 0 || y >= s.input[0] || x < 0 || x >= s.input[1]) continue;
      for (int64_t c = 0; c < s.in_channels; ++c) {
        const double value = in[((image * s.input[0] + y) * s.input[1] + x) * s.in_channels + c];
        const float* const weights =
            filter.data<float>() + (position * group_in + c % group_in) * s.out_channels;
        const int64_t first = c / group_in * group_out;
        for (int64_t o = first; o < first + group_out; ++o) sums[o] += value * weights[o];
      }
    }
    for (int64_t o = 0; o < s.out_channels; ++o) {
      result.push_back(
          End(post_ops, sums[o], bias.data<float>()[o], before.data<float>()[result.size()]));
    }
  }
  return result;
}

std::vector<double> ReferenceMatMul(int64_t m, int64_t n, int64_t k, bool transpose_b,
                                    const PostOps& post_ops, const Tensor& a, const Tensor& b,
                                    const Tensor& bias, const Tensor& before) {
  std::vector<double> result;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += double{a.data<float>()[i * k + p]} *
               b.data<float>()[transpose_b ? j * k + p : p * n + j];
      }
      result.push_back(
          End(post_ops, sum, bias.data<float>()[j], before.data<float>()[result.size()]));
    }
  }
  return result;
}

}  // namespace tessera
