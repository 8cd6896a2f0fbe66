#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Ops = std::vector<std::string>;

AttrMap Attrs(int64_t num_args, const Ops& fused_ops, DType type = DType::kFloat) {
  return {{"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"},
          {"num_args", num_args},        {"TArgs", std::vector<DType>(num_args, type)},
          {"num_host_args", 0},          {"num_scales", 1},
          {"fused_ops", fused_ops}};
}

TEST(ScaleWeightsTest, EachChannelHasAFactor) {
  const Tensor scaled = RunOp("_ScaleWeights", {Tensor::Of<float>({2, 1, 2}, {1, 2, 3, 4}),
                                                Tensor::Vector<double>({0.5, -3})})
                            .value();
  EXPECT_EQ(scaled.ToString(), "float[2,1,2] [[[0.5 -6]] [[1.5 -12]]]");
}

TEST(ScaleWeightsTest, AProductIsRoundedOnce) {
  const double third = 1.0 / 3;
  const Tensor scaled =
      RunOp("_ScaleWeights", {Tensor::Vector<float>({7e8f}), Tensor::Vector<double>({third})})
          .value();
  EXPECT_EQ(scaled.scalar<float>(), static_cast<float>(7e8f * third));
  EXPECT_NE(scaled.scalar<float>(), 7e8f * static_cast<float>(third)) << "not a useful example";
}

TEST(ScaleWeightsTest, RefusesFactorsThatDoNotFit) {
  for (const int64_t factors : {0, 3}) {
    const Tensor scale = Tensor::Zeros(DType::kDouble, {factors}).value();
    const absl::Status status = RunOp("_ScaleWeights", {RandomTensor({2, 2}, 1), scale}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.ToString(), HasSubstr("[2,2]"));
  }
}

TEST(ScaleWeightsTest, AConvolutionTakesTheScaleLast) {
  const Tensor images = RandomTensor({2, 7, 7, 3}, 1), filter = RandomTensor({3, 3, 3, 4}, 2);
  const Tensor bias = RandomTensor({4}, 3), addend = RandomTensor({2, 4, 4, 4}, 4);
  const Tensor scale = Tensor::Vector<double>({2, -1.0 / 3, 0, 1e-3});
  const Tensor scaled = RunOp("_ScaleWeights", {filter, scale}).value();
  std::vector<Tensor> arguments;
  Ops ops;
  for (const char* op : {"", "BiasAdd", "Add"}) {
    SCOPED_TRACE(op);
    if (*op != 0) {
      ops.push_back(op);
      arguments.push_back(*op == 'B' ? bias : addend);
    }
    std::vector<Tensor> with_scale = {images, filter}, without = {images, scaled};
    for (const Tensor& argument : arguments) {
      with_scale.push_back(argument);
      without.push_back(argument);
    }
    with_scale.push_back(scale);
    const auto num_args = static_cast<int64_t>(arguments.size());
    AttrMap plain = Attrs(num_args, ops);
    plain.insert_or_assign("num_scales", 0);
    EXPECT_EQ(RunOp("_FusedConv2D", with_scale, Attrs(num_args, ops))->ToString(1000),
              RunOp("_FusedConv2D", without, plain)->ToString(1000));
  }
}

TEST(ScaleWeightsTest, AConvolutionRefusesWhatItCannotScaleBy) {
  const Tensor images = RandomTensor({2, 7, 7, 3}, 1), filter = RandomTensor({3, 3, 3, 4}, 2);
  const Tensor three = Tensor::Vector<double>({1, 2, 3});
  const absl::Status wrong = RunOp("_FusedConv2D", {images, filter, three}, Attrs(0, {})).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.ToString(), HasSubstr("scale must have 4 elements, has shape [3]"));

  const Tensor four = Tensor::Vector<double>({1, 2, 3, 4});
  AttrMap twice = Attrs(0, {});
  twice.insert_or_assign("num_scales", 2);
  EXPECT_FALSE(RunOp("_FusedConv2D", {images, filter, four, four}, twice).ok());
  const Tensor doubles = Tensor::Zeros(DType::kDouble, {2, 7, 7, 3}).value();
  const Tensor of_doubles = Tensor::Zeros(DType::kDouble, {3, 3, 3, 4}).value();
  EXPECT_FALSE(RunOp("_FusedConv2D", {doubles, of_doubles, four}, Attrs(0, {})).ok());
}

// A graph may hold any.
TEST(ScaleWeightsTest, AConvolutionRefusesFusedOpsWithoutTheirArgs) {
  const Tensor images = RandomTensor({2, 7, 7, 3}, 1), filter = RandomTensor({3, 3, 3, 4}, 2);
  const Tensor bias = RandomTensor({4}, 3), scale = Tensor::Vector<double>({1, 2, 3, 4});
  EXPECT_FALSE(RunOp("_FusedConv2D", {images, filter, scale}, Attrs(0, {"BiasAdd"})).ok());
  EXPECT_FALSE(
      RunOp("_FusedConv2D", {images, filter, bias, scale}, Attrs(1, {"BiasAdd", "Add"})).ok());
  EXPECT_FALSE(
      RunOp("_FusedConv2D", {images, filter, scale, scale}, Attrs(1, {"BiasAdd"}, DType::kDouble))
          .ok())
      << "a bias of double";
}

}  // namespace
}  // namespace tessera
