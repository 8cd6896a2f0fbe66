#include "runtime/kernels/primitives/cpu/line_convolution.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

ConvolutionShape Line(int64_t batch, int64_t points, int64_t filter, int64_t in, int64_t out,
                      int64_t stride = 1, int64_t before = 0, int64_t after = 0) {
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .input = {1, points},
          .filter = {1, filter},
          .output = {1, (before + points + after - filter) / stride + 1},
          .strides = {1, stride},
          .dilations = {1, 1},
          .pad_before = {0, before},
          .pad_after = {0, after}};
}

class LineConvolutionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Avx512IsSupported()) GTEST_SKIP() << "needs AVX-512";
  }

  void ExpectExact(const ConvolutionShape& s, const PostOps& post_ops = {.bias = true}) {
    SCOPED_TRACE(testing::Message() << s.batch << " lines of " << s.input[1] << ", filter "
                                    << s.filter[1] << ", stride " << s.strides[1]);
    ASSERT_TRUE(IsLineConvolution(s));
    const Tensor input = RandomTensor({s.batch, 1, s.input[1], s.in_channels}, 1);
    const Tensor filter = RandomTensor({1, s.filter[1], s.in_channels, s.out_channels}, 2);
    const Tensor bias = RandomTensor({s.out_channels}, 3);
    Tensor output = RandomTensor({s.batch, 1, s.output[1], s.out_channels}, 4);
    const std::vector<double> expected =
        ReferenceConvolution(s, post_ops, input, filter, bias, output.DeepCopy().value());
    KernelContext ctx(step_, nullptr);
    PackedWeights packed;
    ASSERT_EQ(ConvolveLines(ctx, s, post_ops, input.data<float>(), filter,
                            post_ops.bias ? bias.data<float>() : nullptr, &packed,
                            output.data<float>(),
                            [](KernelContext&, int64_t, int64_t) {
                              return absl::InternalError("lines were left over");
                            }),
              absl::OkStatus());
    ASSERT_EQ(expected.size(), output.num_elements());
    const double scale = std::sqrt(static_cast<double>(s.filter[1] * s.in_channels));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(output.data<float>()[i], expected[i], 8e-6 * scale) << "at " << i;
    }
  }

  StepContext step_;
};

TEST_F(LineConvolutionTest, GivesEachStrideAndPadding) {
  for (const int64_t stride : {1, 2, 3}) {
    ExpectExact(Line(1, 301, 3, 96, 128, stride));
    ExpectExact(Line(2, 250, 3, 96, 128, stride, 1, 1));
    ExpectExact(Line(2, 250, 5, 64, 192, stride, 4, 0));
  }
  ExpectExact(Line(1, 40, 2, 256, 128));   // rows that are copied, because they conflict in a cache
  ExpectExact(Line(1, 6, 6, 64, 128));     // one output
  ExpectExact(Line(1, 64, 4, 64, 128, 4));  // no point is read twice
}

TEST_F(LineConvolutionTest, EndsInAdditionsAndActivations) {
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGeluErf}) {
    ExpectExact(Line(2, 100, 3, 96, 128),
                {.bias = true, .add = true, .activation = activation});
  }
}

TEST_F(LineConvolutionTest, ThreadsShareRowsOrColumns) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact(Line(2, 1000, 3, 96, 128));
  ExpectExact(Line(2, 100, 3, 96, 1024, 2, 1, 1));
}

TEST_F(LineConvolutionTest, LeavesLinesToOthersIfTheFilterIsInfinite) {
  const ConvolutionShape s = Line(2, 100, 3, 96, 128);
  const Tensor input = RandomTensor({2, 1, 100, 96}, 1);
  Tensor filter = RandomTensor({1, 3, 96, 128}, 2);
  filter.data<float>()[77] = std::numeric_limits<float>::infinity();
  Tensor output = RandomTensor({2, 1, 98, 128}, 3);
  KernelContext ctx(step_, nullptr);
  PackedWeights packed;
  std::vector<int64_t> left;
  EXPECT_EQ(ConvolveLines(ctx, s, PostOps(), input.data<float>(), filter, nullptr, &packed,
                          output.data<float>(),
                          [&](KernelContext&, int64_t first, int64_t count) {
                            EXPECT_EQ(count, 1);
                            left.push_back(first);
                            return absl::OkStatus();
                          }),
            absl::OkStatus());
  EXPECT_EQ(left, (std::vector<int64_t>{0, 1}));
}

TEST(LinePlanTest, StrassenTakesLongLinesAlone) {
  const auto plan = [](const char* machine, const ConvolutionShape& shape,
                       Numerics numerics = Numerics::kFast) {
    const MachineSpeeds speeds = *FindMachineSpeeds(machine);
    return PlanConvolution({.shape = shape, .has_constant_filter = true}, {speeds, 1, numerics});
  };
  using Algorithm = ProductAlgorithm;
  const ConvolutionShape whisper = Line(1, 3002, 3, 384, 384, 2);
  for (const char* const machine : {"intel-avx512", "zen4", "zen5"}) {
    EXPECT_EQ(plan(machine, whisper), Algorithm::kStrassen) << machine;
    EXPECT_EQ(plan(machine, whisper, Numerics::kStrict), Algorithm::kFmaGemm) << machine;
    EXPECT_NE(plan(machine, Line(64, 52, 3, 384, 384)), Algorithm::kStrassen) << "short lines";
    EXPECT_NE(plan(machine, Line(1, 3002, 3, 80, 384)), Algorithm::kStrassen) << "few terms";
    ConvolutionShape other = whisper;
    other.dilations = {1, 2};
    other.output = {1, 1499};
    EXPECT_NE(plan(machine, other), Algorithm::kStrassen) << "points with gaps";
    other = whisper;
    other.channels_first = true;
    EXPECT_NE(plan(machine, other), Algorithm::kStrassen);
  }
  EXPECT_EQ(plan("avx2", whisper), Algorithm::kOneDnn);
  EXPECT_NE(plan("intel-amx", whisper), Algorithm::kStrassen);
}

}  // namespace
}  // namespace tessera
