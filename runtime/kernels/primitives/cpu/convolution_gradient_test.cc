#include "runtime/kernels/primitives/convolution_gradient.h"

#include <cmath>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

ConvolutionShape Shape2D(int64_t batch, int64_t height, int64_t positions, int64_t stride,
                         int64_t pad) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.in_channels = 24;
  shape.out_channels = 32;
  shape.input = {height, 40};
  shape.filter = {positions, positions};
  shape.strides = {stride, stride};
  shape.dilations = {1, 1};
  shape.pad_before = shape.pad_after = {pad, pad};
  for (int64_t in : shape.input) shape.output.push_back((in + 2 * pad - positions) / stride + 1);
  return shape;
}

// These are large enough to be split into images, rows of one image, or points; some strides skip
// rows.
const ConvolutionShape kShapes[] = {Shape2D(6, 40, 3, 1, 1), Shape2D(1, 41, 3, 1, 1),
                                    Shape2D(1, 41, 3, 2, 1), Shape2D(2, 40, 2, 2, 0),
                                    Shape2D(2, 40, 1, 1, 0), Shape2D(1, 41, 1, 2, 0),
                                    Shape2D(1, 40, 5, 3, 2)};

// Computes a gradient on three threads and on one.
template <typename Gradient>
void ExpectTheSameOnThreads(const ConvolutionShape& s, const Shape& result, Gradient compute) {
  const Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
  const Tensor filter = RandomTensor({s.filter[0], s.filter[1], s.in_channels, s.out_channels}, 2);
  const Tensor gradient = RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 3);
  ThreadPool pool({.name = "test", .num_threads = 3});
  Tensor results[2];
  for (const bool with_pool : {false, true}) {
    StepContext step;
    step.intra_op_pool = with_pool ? &pool : nullptr;
    KernelContext ctx(step, nullptr);
    Tensor& output = results[with_pool];
    output = RandomTensor(result, 4);
    ASSERT_TRUE(compute(ctx, input, filter, gradient, &output).ok());
  }
  // Sums of up to 10,000 numbers are added in different orders.
  double largest = 0;
  for (float v : results[0].flat<float>()) largest = std::max(largest, std::abs(double{v}));
  for (int64_t i = 0; i < results[0].num_elements(); ++i) {
    ASSERT_NEAR(results[0].flat<float>()[i], results[1].flat<float>()[i], 1e-5 * largest)
        << "at " << i;
  }
}

TEST(ConvolutionGradientTest, PiecesMakeTheInputsGradient) {
  auto* const compute = PrimitiveImplementations<ConvolutionInputGradient>::Find(kCpu);
  for (const ConvolutionShape& s : kShapes) {
    ExpectTheSameOnThreads(
        s, {s.batch, s.input[0], s.input[1], s.in_channels},
        [&](KernelContext& ctx, const Tensor&, const Tensor& filter, const Tensor& gradient,
            Tensor* output) { return compute(ctx, s, gradient, filter, output); });
  }
}

TEST(ConvolutionGradientTest, PiecesMakeTheFiltersGradient) {
  auto* const compute = PrimitiveImplementations<ConvolutionFilterGradient>::Find(kCpu);
  for (const ConvolutionShape& s : kShapes) {
    ExpectTheSameOnThreads(
        s, {s.filter[0], s.filter[1], s.in_channels, s.out_channels},
        [&](KernelContext& ctx, const Tensor& input, const Tensor&, const Tensor& gradient,
            Tensor* output) { return compute(ctx, s, input, gradient, output); });
  }
}

}  // namespace
}  // namespace tessera
