// What TensorFlow takes and refuses where tensors are empty, ranks are not the usual ones, or
// attributes have no use.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

Tensor Floats(const Shape& shape) { return Tensor::Zeros(DType::kFloat, shape).value(); }

absl::StatusCode CodeOf(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  auto runner = KernelRunner::Create(op, inputs, std::move(attrs));
  return runner.ok() ? runner->Run(std::move(inputs)).status().code() : runner.status().code();
}

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(UnusualArgumentsTest, FlagsOfReverseCountForEmptyTensorsAndAxesDoNot) {
  const Tensor empty = Floats({0, 2});
  EXPECT_EQ(CodeOf("Reverse", {empty, Tensor::Vector<bool>({true, false})}), kOk);
  EXPECT_EQ(CodeOf("Reverse", {empty, Tensor::Vector<bool>({true})}), kInvalid);
  EXPECT_EQ(CodeOf("Reverse", {empty, Tensor::Of<bool>({1, 2}, {true, true})}), kInvalid);
  EXPECT_EQ(CodeOf("Reverse", {Tensor::Scalar(1.f), Tensor::Vector<bool>({true})}), kOk);
  EXPECT_EQ(CodeOf("ReverseV2", {empty, Tensor::Vector<int32_t>({7})}), kOk);
  EXPECT_EQ(CodeOf("ReverseV2", {Floats({1, 2}), Tensor::Vector<int32_t>({7})}), kInvalid);
}

TEST(UnusualArgumentsTest, ShiftsOfRollHaveTheShapeOfTheAxes) {
  const Tensor scalar = Tensor::Scalar<int32_t>(0), vector = Tensor::Vector<int32_t>({0});
  const Tensor pair = Tensor::Vector<int32_t>({0, 1});
  EXPECT_EQ(CodeOf("Roll", {Floats({2, 3}), scalar, scalar}), kOk);
  EXPECT_EQ(CodeOf("Roll", {Floats({2, 3}), vector, vector}), kOk);
  EXPECT_EQ(CodeOf("Roll", {Floats({2, 3}), scalar, vector}), kInvalid);
  EXPECT_EQ(CodeOf("Roll", {Floats({2, 3}), vector, scalar}), kInvalid);
  EXPECT_EQ(CodeOf("Roll", {Floats({0, 3}), pair, vector}), kInvalid);
}

TEST(UnusualArgumentsTest, AxesOfConcatAndSplitHaveTheRankThatTensorFlowAllows) {
  const Tensor x = Floats({2, 3}), dims = Tensor::Vector<int32_t>({2, 3});
  const AttrMap two = {{"N", int64_t{2}}}, pieces = {{"num_split", int64_t{2}}};
  const Tensor axes[] = {Tensor::Scalar<int32_t>(0), Tensor::Vector<int32_t>({0}),
                         Tensor::Of<int32_t>({1, 1}, {0})};
  for (int rank = 0; rank < 3; ++rank) {
    const auto may_be_vector = rank < 2 ? kOk : kInvalid,
               must_be_scalar = rank < 1 ? kOk : kInvalid;
    EXPECT_EQ(CodeOf("ConcatV2", {x, x, axes[rank]}, two), may_be_vector) << rank;
    EXPECT_EQ(CodeOf("Concat", {axes[rank], x, x}, two), may_be_vector) << rank;
    EXPECT_EQ(CodeOf("ConcatOffset", {axes[rank], dims, dims}, two), must_be_scalar) << rank;
    EXPECT_EQ(CodeOf("Split", {axes[rank], x}, pieces), must_be_scalar) << rank;
    EXPECT_EQ(CodeOf("ExpandDims", {x, axes[rank]}), kOk) << rank;
  }
}

TEST(UnusualArgumentsTest, ZerosLikeTakesOneVariant) {
  EXPECT_EQ(CodeOf("ZerosLike", {Tensor::Zeros(DType::kVariant, {2}).value()}), kInvalid);
  EXPECT_EQ(CodeOf("ZerosLike", {Tensor::Zeros(DType::kFloat, {2}).value()}), kOk);
}

TEST(UnusualArgumentsTest, RangesOfAllNumbersAreScalars) {
  const auto differentiate = [](const Shape& ends, int64_t axis) {
    return CodeOf("QuantizeAndDequantizeV4Grad",
                  {Floats({2, 1}), Floats({2, 1}), Floats(ends), Floats(ends)}, {{"axis", axis}});
  };
  EXPECT_EQ(differentiate({}, -1), kOk);
  EXPECT_EQ(differentiate({1}, -1), kInvalid);
  EXPECT_EQ(differentiate({1}, 1), kOk);
  EXPECT_EQ(differentiate({}, 1), kInvalid);
}

TEST(UnusualArgumentsTest, RangesOfQuantizedNumbersAreScalars) {
  const auto zeros = [](const Shape& shape) {
    return Tensor::Zeros(DType::kQuint8, shape).value();
  };
  const Tensor sums = Tensor::Zeros(DType::kQint32, {2, 2}).value();
  const AttrMap window = {{"ksize", std::vector<int64_t>(4, 1)},
                          {"strides", std::vector<int64_t>(4, 1)},
                          {"padding", "VALID"}};
  const AttrMap step = {{"strides", std::vector<int64_t>(4, 1)}, {"padding", "VALID"}};
  const AttrMap to_bytes = {{"out_type", DType::kQuint8}};
  struct Case {
    const char* op;
    std::vector<Tensor> numbers;
    int num_ranges;
    AttrMap attrs;
    std::vector<int> lenient;  // the ends of ranges that may be vectors of one element
  };
  const Case cases[] = {
      {"QuantizedAdd", {zeros({2}), zeros({2})}, 2, {}, {}},
      {"QuantizedMul", {zeros({2}), zeros({2})}, 2, {}, {}},
      {"QuantizedBiasAdd", {zeros({2, 2}), zeros({2})}, 2, {{"out_type", DType::kQint32}}, {}},
      {"QuantizedConv2D", {zeros({1, 2, 2, 1}), zeros({1, 1, 1, 1})}, 2, step, {}},
      {"QuantizedRelu", {zeros({2})}, 1, {}, {}},
      {"QuantizedRelu6", {zeros({2})}, 1, {}, {}},
      {"QuantizedMaxPool", {zeros({1, 2, 2, 1})}, 1, window, {}},
      {"QuantizedAvgPool", {zeros({1, 2, 2, 1})}, 1, window, {}},
      {"QuantizedInstanceNorm", {zeros({1, 2, 2, 1})}, 1, {}, {}},
      {"QuantizeDownAndShrinkRange", {sums}, 1, to_bytes, {}},
      {"Requantize", {sums}, 2, to_bytes, {}},
      {"QuantizedMatMul", {zeros({2, 2}), zeros({2, 2})}, 2, {}, {1, 2, 3}},
      {"QuantizeAndDequantizeV2", {Floats({2})}, 1, {{"range_given", true}}, {}},
      {"QuantizeAndDequantizeV4", {Floats({2})}, 1, {{"range_given", true}}, {}},
  };
  for (const Case& op : cases) {
    std::vector<Tensor> inputs = op.numbers;
    for (int i = 0; i < 2 * op.num_ranges; ++i) inputs.push_back(Tensor::Scalar(i % 2 * 2 - 1.f));
    EXPECT_EQ(CodeOf(op.op, inputs, op.attrs), kOk) << op.op;
    for (int i = 0; i < 2 * op.num_ranges; ++i) {
      std::vector<Tensor> changed = inputs;
      Tensor& end = changed[op.numbers.size() + i];
      end = end.Reshaped({1}).value();
      const bool fits = std::count(op.lenient.begin(), op.lenient.end(), i) > 0;
      EXPECT_EQ(CodeOf(op.op, changed, op.attrs), fits ? kOk : kInvalid) << op.op << ", " << i;
    }
  }
  const Tensor bits = Tensor::Scalar<int32_t>(8), one = Tensor::Vector<float>({1});
  EXPECT_EQ(CodeOf("QuantizeAndDequantizeV3", {Floats({2}), Floats({1}), one, bits}), kOk);
}

TEST(UnusualArgumentsTest, SampleRatesAreScalars) {
  const auto transform = [](const Shape& shape) {
    return CodeOf("Mfcc", {Floats({1, 2, 129}), Tensor::Of<int32_t>(shape, {8000})});
  };
  EXPECT_EQ(transform({}), kOk);
  EXPECT_EQ(transform({1}), kInvalid);
}

TEST(UnusualArgumentsTest, BandsOfMatricesAreScalars) {
  const Tensor x = Floats({2, 3}), one = Tensor::Scalar<int64_t>(1);
  const Tensor vector = Tensor::Vector<int64_t>({1});
  EXPECT_EQ(CodeOf("MatrixBandPart", {x, one, one}), kOk);
  EXPECT_EQ(CodeOf("MatrixBandPart", {x, vector, one}), kInvalid);
  EXPECT_EQ(CodeOf("MatrixBandPart", {x, one, vector}), kInvalid);
}

TEST(UnusualArgumentsTest, StitchedTensorsHaveLessThanTwoToThe31Rows) {
  const auto stitch = [](int32_t index) {
    return CodeOf("DynamicStitch",
                  {Tensor::Vector<int32_t>({index}), Tensor::Vector<std::string>({"x"})},
                  {{"N", int64_t{1}}});
  };
  EXPECT_EQ(stitch(5), kOk);
  EXPECT_EQ(stitch(2147483647), kInvalid);
  EXPECT_EQ(stitch(-1), kInvalid);
}

TEST(UnusualArgumentsTest, ImagesOfFiveChannelsAreRefusedEvenWhereThereAreNone) {
  const auto encode = [](const Shape& shape) {
    return CodeOf("EncodePng", {Tensor::Zeros(DType::kUint8, shape).value()});
  };
  EXPECT_EQ(encode({0, 1, 1, 4}), kOk);
  EXPECT_EQ(encode({0, 1, 1, 5}), kInvalid);
  EXPECT_EQ(encode({0, 1, 1, 0}), kInvalid);
}

TEST(UnusualArgumentsTest, ConditionsOfAssertAreScalars) {
  const auto assert_that = [](const Tensor& condition) {
    return CodeOf("Assert", {condition, Tensor::Scalar(1.f)},
                  {{"T", std::vector<DType>{DType::kFloat}}});
  };
  EXPECT_EQ(assert_that(Tensor::Scalar(true)), kOk);
  EXPECT_EQ(assert_that(Tensor::Vector<bool>({true})), kInvalid);
  EXPECT_EQ(assert_that(Tensor::Of<bool>({1, 1}, {true})), kInvalid);
  EXPECT_EQ(assert_that(Tensor::Zeros(DType::kBool, {0}).value()), kInvalid);
}

TEST(UnusualArgumentsTest, PaddedConvolutionsMayNotStepOverImages) {
  const auto convolve = [](std::vector<int64_t> strides) {
    const Tensor paddings = Tensor::Zeros(DType::kInt32, {4, 2}).value();
    return CodeOf("FusedPadConv2D", {Floats({1, 2, 2, 1}), paddings, Floats({1, 1, 1, 1})},
                  {{"mode", "REFLECT"}, {"padding", "VALID"}, {"strides", std::move(strides)}});
  };
  EXPECT_EQ(convolve({1, 1, 1, 1}), kOk);
  EXPECT_EQ(convolve({2, 1, 1, 1}), kInvalid);
  EXPECT_EQ(convolve({1, 1, 1, 2}), kInvalid);
}

TEST(UnusualArgumentsTest, FiltersForNoChannelsHaveTwoDimensions) {
  const AttrMap attrs = {{"padding", "VALID"}, {"strides", std::vector<int64_t>(4, 1)}};
  EXPECT_EQ(CodeOf("Conv2D", {Floats({1, 2, 2, 3}), Floats({1, 1, 3, 0})}, attrs), kOk);
  EXPECT_EQ(CodeOf("Conv2D", {Floats({1, 2, 2, 0}), Floats({1, 1, 0, 2})}, attrs), kInvalid);
  const AttrMap attrs_3d = {{"padding", "VALID"}, {"strides", std::vector<int64_t>(5, 1)}};
  EXPECT_EQ(CodeOf("Conv3D", {Floats({1, 2, 2, 2, 3}), Floats({1, 1, 1, 3, 0})}, attrs_3d),
            kInvalid);
  EXPECT_EQ(CodeOf("Conv3D", {Floats({0, 2, 2, 2, 3}), Floats({1, 1, 1, 3, 2})}, attrs_3d), kOk);
}

TEST(UnusualArgumentsTest, HistogramsHoldNoNaN) {
  const auto code = [](float value) {
    return CodeOf("HistogramFixedWidth",
                  {Tensor::Vector<float>({0, value}), Tensor::Vector<float>({-1, 1}),
                   Tensor::Scalar<int32_t>(4)});
  };
  EXPECT_EQ(code(.5f), kOk);
  EXPECT_EQ(code(std::numeric_limits<float>::quiet_NaN()), kInvalid);
}

TEST(UnusualArgumentsTest, ParallelVectorsHaveNoCrossProduct) {
  const Tensor a = Tensor::Vector<float>({.1f, .7f, -.3f});
  const Tensor product = RunOp("Cross", {a, a}).value();
  EXPECT_THAT(product.flat<float>(), ElementsAre(0, 0, 0));
}

TEST(UnusualArgumentsTest, OnlyDepthwiseConvolutionsNeedAllSizesOfTheirInput) {
  const Tensor sizes = Tensor::Vector<int32_t>({6, 6}), filter = Floats({2, 2, 1, 1});
  const AttrMap attrs = {{"padding", "VALID"}, {"strides", std::vector<int64_t>(4, 1)}};
  const std::vector<Tensor> inputs = {sizes, filter, Floats({1, 5, 5, 1})};
  EXPECT_EQ(CodeOf("Conv2DBackpropInput", inputs, attrs), kOk);
  EXPECT_EQ(CodeOf("DepthwiseConv2dNativeBackpropInput", inputs, attrs), kInvalid);
}

TEST(UnusualArgumentsTest, GradientsOfDepthwiseConvolutionsPassOverDilations) {
  const Tensor sizes = Tensor::Vector<int32_t>({1, 6, 6, 1}), filter = Floats({2, 2, 1, 1});
  const Tensor filter_sizes = Tensor::Vector<int32_t>({2, 2, 1, 1}), image = Floats({1, 6, 6, 1});
  for (const std::vector<int64_t>& dilations :
       {std::vector<int64_t>{1, 2, 2, 1}, {1, 3, 4, 4}, {1, 0, -1, 1}, {2}}) {
    const AttrMap attrs = {
        {"padding", "VALID"}, {"strides", std::vector<int64_t>(4, 1)}, {"dilations", dilations}};
    EXPECT_EQ(
        CodeOf("DepthwiseConv2dNativeBackpropInput", {sizes, filter, Floats({1, 5, 5, 1})}, attrs),
        kOk);
    EXPECT_EQ(CodeOf("DepthwiseConv2dNativeBackpropFilter",
                     {image, filter_sizes, Floats({1, 5, 5, 1})}, attrs),
              kOk);
    EXPECT_EQ(CodeOf("DepthwiseConv2dNativeBackpropFilter",
                     {image, filter_sizes, Floats({1, 4, 4, 1})}, attrs),
              kInvalid);
    EXPECT_NE(CodeOf("DepthwiseConv2dNative", {image, filter}, attrs), kOk);
  }
}

TEST(UnusualArgumentsTest, FractionalPoolsTakeNoEmptyImages) {
  const AttrMap attrs = {{"pooling_ratio", std::vector<float>{1, 1.5f, 1.5f, 1}}};
  for (const char* op : {"FractionalAvgPool", "FractionalMaxPool"}) {
    EXPECT_EQ(CodeOf(op, {Floats({1, 4, 4, 1})}, attrs), kOk) << op;
    EXPECT_EQ(CodeOf(op, {Floats({0, 4, 4, 1})}, attrs), kInvalid) << op;
    EXPECT_EQ(CodeOf(op, {Floats({1, 0, 4, 1})}, attrs), kInvalid) << op;
    EXPECT_EQ(CodeOf(op, {Floats({1, 4, 4, 0})}, attrs), kInvalid) << op;
  }
}

TEST(UnusualArgumentsTest, OnlySomeQuantizersTakeScalars) {
  const Tensor x = Tensor::Scalar(0.3f), min = Tensor::Scalar(-1.f), max = Tensor::Scalar(1.f);
  const Tensor bits = Tensor::Scalar<int32_t>(8);
  EXPECT_EQ(CodeOf("QuantizeAndDequantizeV2", {x, min, max}), kOk);
  EXPECT_EQ(CodeOf("QuantizeAndDequantizeV4", {x, min, max}), kOk);
  EXPECT_EQ(CodeOf("QuantizeAndDequantizeV3", {x, min, max, bits}), kInvalid);
  EXPECT_EQ(CodeOf("QuantizeAndDequantizeV3", {Floats({2}), min, max, bits}), kOk);
}

// Pools the bytes 1 to 8, four channels of two points. Returns nothing but the code after an error.
std::pair<absl::StatusCode, std::vector<uint8_t>> PooledBytes(const char* op,
                                                              const std::vector<int64_t>& ksize,
                                                              const std::vector<int64_t>& strides) {
  Tensor x = Tensor::Zeros(DType::kQuint8, {1, 1, 2, 4}).value();
  for (int i = 0; i < 8; ++i) x.mutable_raw()[i] = static_cast<char>(i + 1);
  const std::vector<Tensor> inputs = {x, Tensor::Scalar(0.f), Tensor::Scalar(1.f)};
  auto runner = KernelRunner::Create(
      op, inputs, {{"ksize", ksize}, {"strides", strides}, {"padding", "VALID"}});
  if (!runner.ok()) return {runner.status().code(), {}};
  const auto outputs = runner->Run(inputs);
  if (!outputs.ok()) return {outputs.status().code(), {}};
  const Tensor& y = (*outputs)[0];
  return {kOk, std::vector<uint8_t>(y.raw(), y.raw() + y.num_elements())};
}

TEST(UnusualArgumentsTest, QuantizedMaximaMayBeOfChannels) {
  using Bytes = std::vector<uint8_t>;
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  const char* const max = "QuantizedMaxPool";
  EXPECT_EQ(PooledBytes(max, {1, 1, 1, 2}, {1, 1, 1, 2}).second, (Bytes{2, 4, 6, 8}));
  EXPECT_EQ(PooledBytes(max, {1, 1, 1, 2}, {1, 1, 1, 1}).first, kUnimplemented);
  EXPECT_EQ(PooledBytes(max, {1, 1, 1, 3}, {1, 1, 1, 3}).first, kUnimplemented);
  EXPECT_EQ(PooledBytes(max, {1, 1, 2, 2}, {1, 1, 2, 2}).first, kUnimplemented);
  EXPECT_EQ(PooledBytes(max, {2, 1, 1, 1}, {1, 1, 1, 1}).first, kUnimplemented);
  // A stride over channels has no use for windows of one.
  EXPECT_EQ(PooledBytes(max, {1, 1, 2, 1}, {1, 1, 2, 2}).second, (Bytes{5, 6, 7, 8}));
  const char* const mean = "QuantizedAvgPool";
  EXPECT_EQ(PooledBytes(mean, {1, 1, 2, 1}, {1, 1, 2, 2}).second, (Bytes{3, 4, 5, 6}));
  EXPECT_EQ(PooledBytes(mean, {1, 1, 1, 2}, {1, 1, 1, 2}).first, kUnimplemented);
}

TEST(UnusualArgumentsTest, ReshapedQuantizedTensorsHaveScalarRanges) {
  const auto reshape = [](const Tensor& min) -> absl::StatusOr<std::vector<Tensor>> {
    const std::vector<Tensor> inputs = {Tensor::Zeros(DType::kQuint8, {2, 3}).value(),
                                        Tensor::Vector<int32_t>({-1}), min, Tensor::Scalar(2.f)};
    ASSIGN_OR_RETURN(KernelRunner runner, KernelRunner::Create("QuantizedReshape", inputs));
    return runner.Run(inputs);
  };
  const auto reshaped = reshape(Tensor::Vector<float>({1.f}));
  ASSERT_TRUE(reshaped.ok()) << reshaped.status();
  EXPECT_EQ((*reshaped)[1].shape(), Shape{});
  EXPECT_EQ((*reshaped)[1].scalar<float>(), 1);
  EXPECT_EQ(reshape(Tensor::Of<float>({1, 1}, {1.f})).status().code(), kInvalid);
}

TEST(UnusualArgumentsTest, QuantizedNumbersAreSortedByXla) {
  const auto sorted = [](DType dtype) {
    Tensor x = Tensor::Zeros(dtype, {3}).value();
    for (int i = 0; i < 3; ++i) x.mutable_raw()[i] = static_cast<char>(127 * i + 1);
    const auto y = RunOp("XlaSort", {x});
    EXPECT_TRUE(y.ok()) << y.status();
    return std::vector<uint8_t>(y->raw(), y->raw() + 3);
  };
  EXPECT_EQ(sorted(DType::kQuint8), (std::vector<uint8_t>{1, 128, 255}));
  EXPECT_EQ(sorted(DType::kQint8), (std::vector<uint8_t>{128, 255, 1}));
}

TEST(UnusualArgumentsTest, RangesOfRequantizationBeginTheirTensors) {
  const auto limits = [](std::vector<float> min, std::vector<float> max) {
    const std::vector<Tensor> inputs = {Tensor::Zeros(DType::kQint32, {3}).value(),
                                        Tensor::Vector<float>(min), Tensor::Vector<float>(max)};
    return CodeOf("RequantizationRange", inputs);
  };
  EXPECT_EQ(limits({-1}, {1}), kOk);
  EXPECT_EQ(limits({-1, 7}, {1, -8, 2}), kOk);
  EXPECT_EQ(limits({}, {1}), kInvalid);
}

// Returns the sizes and the box that are drawn in an image with one object, the whole of it.
std::vector<Tensor> DrawnBox(int32_t height, int32_t width, float covered) {
  const std::vector<Tensor> inputs = {Tensor::Vector<int32_t>({height, width, 3}),
                                      Tensor::Of<float>({1, 1, 4}, {0, 0, 1, 1}),
                                      Tensor::Scalar(covered)};
  auto runner = KernelRunner::Create("SampleDistortedBoundingBoxV2", inputs,
                                     {{"seed", int64_t{1}}, {"seed2", int64_t{2}}});
  EXPECT_TRUE(runner.ok()) << runner.status();
  auto outputs = runner->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return {(*outputs)[1], (*outputs)[2]};
}

TEST(UnusualArgumentsTest, BoxesThatCannotBeDrawnAreTheWholeImage) {
  const std::vector<Tensor> too_much = DrawnBox(40, 30, 1.5f);
  EXPECT_THAT(too_much[0].flat<int32_t>(), ElementsAre(40, 30, -1));
  EXPECT_THAT(too_much[1].flat<float>(), ElementsAre(0, 0, 1, 1));
  const std::vector<Tensor> empty = DrawnBox(0, 30, 0.1f);
  EXPECT_THAT(empty[0].flat<int32_t>(), ElementsAre(0, 30, -1));
  EXPECT_THAT(empty[1].flat<float>(), ElementsAre(IsNan(), 0, IsNan(), 1));
}

TEST(UnusualArgumentsTest, PartitionsOfNoRowsMayLeaveValuesOver) {
  const auto dense = [](const Tensor& splits) {
    return RunOp("RaggedTensorToTensor",
                 {Tensor::Scalar<int32_t>(-1), Floats({1, 1}), Tensor::Scalar(0.f), splits},
                 {{"num_row_partition_tensors", int64_t{1}},
                  {"row_partition_types", std::vector<std::string>{"ROW_SPLITS"}},
                  {"Tindex", DType::kInt32}});
  };
  const auto empty = dense(Tensor::Vector<int32_t>({0}));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->shape(), (Shape{0, 0, 1}));
  EXPECT_TRUE(dense(Tensor::Vector<int32_t>({0, 1})).ok());
  EXPECT_EQ(dense(Tensor::Vector<int32_t>({0, 2})).status().code(), kInvalid);
}

TEST(UnusualArgumentsTest, TrianglesAreDividedByZerosOnTheirDiagonals) {
  const auto solved =
      RunOp("MatrixTriangularSolve",
            {Tensor::Of<float>({2, 2}, {2, 1, 1, 0}), Tensor::Of<float>({2, 2}, {1, 2, 3, 4})},
            {{"lower", true}, {"adjoint", false}});
  ASSERT_TRUE(solved.ok()) << solved.status();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(solved->flat<float>(), ElementsAre(0.5f, 1, kInf, kInf));
}

TEST(UnusualArgumentsTest, NegativeIndicesHaveRemaindersForCoordinates) {
  const auto coordinates = RunOp(
      "UnravelIndex", {Tensor::Vector<int32_t>({-9, -13, 5}), Tensor::Vector<int32_t>({3, 4})});
  ASSERT_TRUE(coordinates.ok()) << coordinates.status();
  EXPECT_EQ(coordinates->shape(), Shape({2, 3}));
  EXPECT_THAT(coordinates->flat<int32_t>(), ElementsAre(-2, 0, 1, -1, -1, 1));
}

TEST(UnusualArgumentsTest, NothingIsCountedInNoColumns) {
  const std::vector<Tensor> inputs = {Tensor::Vector<int64_t>({1, 0, 1}),
                                      Tensor::Zeros(DType::kInt64, {0}).value()};
  auto runner = KernelRunner::Create(
      "DenseCountSparseOutput", inputs,
      {{"output_type", DType::kInt64}, {"binary_output", false}, {"maxlength", int64_t{0}}});
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto counts = runner->Run(inputs);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[0].shape(), Shape({0, 1}));
  EXPECT_THAT((*counts)[2].flat<int64_t>(), ElementsAre(0));
}

TEST(UnusualArgumentsTest, CountedMatricesHaveRows) {
  const AttrMap attrs = {{"output_type", DType::kInt64}, {"binary_output", false}};
  const Tensor none = Tensor::Zeros(DType::kInt64, {0}).value();
  const auto zeros = [](const Shape& shape) { return Tensor::Zeros(DType::kInt64, shape).value(); };
  EXPECT_EQ(CodeOf("DenseCountSparseOutput", {zeros({4, 0}), none}, attrs), kOk);
  EXPECT_EQ(CodeOf("DenseCountSparseOutput", {zeros({0, 4}), none}, attrs), kInvalid);
  EXPECT_EQ(CodeOf("DenseCountSparseOutput", {none, none}, attrs), kOk);
  const auto count_sparse = [&](int64_t rows) {
    return CodeOf("SparseCountSparseOutput",
                  {zeros({0, 2}), none, Tensor::Vector<int64_t>({rows, 4}), none}, attrs);
  };
  EXPECT_EQ(count_sparse(1), kOk);
  EXPECT_EQ(count_sparse(0), kInvalid);
  EXPECT_EQ(CodeOf("RaggedCountSparseOutput", {Tensor::Vector<int64_t>({0}), none, none}, attrs),
            kInvalid);
}

TEST(UnusualArgumentsTest, NumbersOfSegmentsStepsAndElementsAreScalars) {
  const Tensor rows = Tensor::Zeros(DType::kFloat, {2, 3}).value();
  const Tensor ids = Tensor::Vector<int32_t>({0, 1});
  for (const bool is_scalar : {true, false}) {
    const Tensor count = is_scalar ? Tensor::Scalar<int32_t>(2) : Tensor::Vector<int32_t>({2});
    EXPECT_EQ(RunOp("UnsortedSegmentSum", {rows, ids, count}).ok(), is_scalar);
    EXPECT_EQ(RunOp("SparseSegmentSumWithNumSegments", {rows, ids, ids, count}).ok(), is_scalar);
    EXPECT_EQ(RunOp("LinSpace", {Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), count}).ok(),
              is_scalar);
    EXPECT_EQ(RunOp("TensorListReserve", {ids, count}, {{"element_dtype", DType::kFloat}}).ok(),
              is_scalar);
  }
}

TEST(UnusualArgumentsTest, TablesAreInitializedWithSomeKeys) {
  const AttrMap types = {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kFloat}};
  const Tensor table = RunOp("AnonymousHashTable", {}, types).value();
  const Tensor no_keys = Tensor::Vector<int64_t>({}), one_key = Tensor::Vector<int64_t>({7});
  EXPECT_EQ(CodeOf("InitializeTableV2", {table, no_keys, Floats({0})}), kInvalid);
  EXPECT_EQ(CodeOf("InitializeTableV2", {table, one_key, Floats({1})}), kOk);
}

TEST(UnusualArgumentsTest, KeysAndValuesOfDenseTablesAreScalarsOrVectors) {
  const auto make = [](const Shape& shape, const Shape& value_shape = {}) {
    const AttrMap types = {{"value_dtype", DType::kFloat},
                           {"value_shape", PartialShape(value_shape)}};
    const Tensor empty = Tensor::Zeros(DType::kInt64, shape).value();
    const std::vector<int64_t> ones(shape.num_elements(), 1);
    return CodeOf("AnonymousMutableDenseHashTable",
                  {empty, Tensor::Of(shape, absl::Span<const int64_t>(ones))}, types);
  };
  EXPECT_EQ(make({}), kOk);
  EXPECT_EQ(make({2}), kOk);
  EXPECT_EQ(make({1, 2}), kInvalid);
  EXPECT_EQ(make({}, {2}), kOk);
  EXPECT_EQ(make({}, {1, 2}), kInvalid);
}

TEST(UnusualArgumentsTest, SparseRowsWithoutElementsGetTheLastNumbers) {
  const std::vector<Tensor> inputs = {Tensor::Of<int64_t>({2, 2}, {1, 0, 3, 0}), Floats({2}),
                                      Tensor::Vector<int64_t>({4, 1})};
  const Tensor numbers = RunOp("AddManySparseToTensorsMap", inputs).value();
  EXPECT_THAT(numbers.flat<int64_t>(), ElementsAre(2, 0, 3, 1));
}

TEST(UnusualArgumentsTest, NoneOfUnknownlyManyElementsIsAnUnknownNumber) {
  const auto dataset = [](absl::string_view op, std::vector<Tensor> inputs, PartialShape shape) {
    return RunOp(op, std::move(inputs),
                 {{"output_types", std::vector<DType>{DType::kInt64}},
                  {"output_shapes", std::vector<PartialShape>{std::move(shape)}}})
        .value();
  };
  const auto number = [](int64_t value) { return Tensor::Scalar<int64_t>(value); };
  const auto count = [](const Tensor& taken) {
    return RunOp("DatasetCardinality", {taken}).value().scalar<int64_t>();
  };
  const Tensor range = dataset("RangeDataset", {number(0), number(5), number(1)}, PartialShape({}));
  const Tensor batch =
      dataset("BatchDatasetV2", {range, number(2), Tensor::Scalar(false)}, PartialShape({-1}));
  const Tensor single = dataset("UnbatchDataset", {batch}, PartialShape({}));
  EXPECT_EQ(count(dataset("TakeDataset", {range, number(0)}, PartialShape({}))), 0);
  EXPECT_EQ(count(dataset("TakeDataset", {single, number(0)}, PartialShape({}))), -2);
  const Tensor none = dataset("TakeDataset", {range, number(0)}, PartialShape({}));
  for (const char* op : {"IgnoreErrorsDataset", "UniqueDataset"}) {
    EXPECT_EQ(count(dataset(op, {none}, PartialShape({}))), -2) << op;
  }
}

TEST(UnusualArgumentsTest, TheOlderConcatLooksAtTheElementsForTheirLength) {
  const AttrMap type = {{"element_dtype", DType::kFloat}};
  AttrMap typed = type;
  typed["element_shape"] = PartialShape({2});
  const Tensor two = Tensor::Vector<int32_t>({2}), any = Tensor::Scalar<int32_t>(-1);
  const auto reserve = [&](const Tensor& shape) {
    return RunOp("TensorListReserve", {shape, Tensor::Scalar<int32_t>(2)}, type).value();
  };
  const auto push = [](const Tensor& list, int64_t size) {
    return RunOp("TensorListPushBack", {list, Floats({size})}).value();
  };
  const Tensor none = Tensor::Vector<int64_t>({});
  EXPECT_EQ(CodeOf("TensorListConcat", {reserve(two)}, typed), kInvalid);
  EXPECT_EQ(CodeOf("TensorListConcatV2", {reserve(two), two, none}, type), kOk);
  EXPECT_EQ(CodeOf("TensorListConcat", {push(reserve(two), 2)}, typed), kInvalid);
  EXPECT_EQ(CodeOf("TensorListConcat", {reserve(any)}, typed), kInvalid);
  EXPECT_EQ(CodeOf("TensorListConcat", {push(reserve(any), 3)}, typed), kOk);
  EXPECT_EQ(CodeOf("TensorListConcat", {push(push(reserve(any), 3), 2)}, typed), kInvalid);
}

TEST(UnusualArgumentsTest, MissingElementsAreAsLongAsTheOthersToConcat) {
  const AttrMap type = {{"element_dtype", DType::kFloat}};
  const Tensor any = Tensor::Scalar<int32_t>(-1);
  const auto push = [&](const Tensor& list, int64_t rows) {
    return RunOp("TensorListPushBack", {list, Floats({rows, 2})}).value();
  };
  const auto lengths = [&](const Tensor& list, std::vector<int32_t> dims) {
    const std::vector<Tensor> inputs = {list, Tensor::Vector(absl::Span<const int32_t>(dims)),
                                        Tensor::Vector<int64_t>({})};
    auto runner = KernelRunner::Create("TensorListConcatV2", inputs, type).value();
    auto outputs = runner.Run(inputs);
    std::vector<int64_t> lengths;
    if (!outputs.ok()) return lengths;
    for (const int64_t length : (*outputs)[1].flat<int64_t>()) lengths.push_back(length);
    return lengths;
  };
  const Tensor list = RunOp("TensorListReserve", {any, Tensor::Scalar<int32_t>(2)}, type).value();
  EXPECT_THAT(lengths(push(list, 4), {-1, 2}), ElementsAre(4, 4, 4));
  EXPECT_THAT(lengths(push(push(list, 4), 3), {-1, 2}), ElementsAre()) << "4 or 3";
  EXPECT_THAT(lengths(push(list, 4), {3, 2}), ElementsAre()) << "4 is not 3";
  EXPECT_THAT(lengths(list, {3, 2}), ElementsAre(3, 3));
}

TEST(UnusualArgumentsTest, GatheredElementsAloneTellTheirShape) {
  const AttrMap type = {{"element_dtype", DType::kFloat}};
  const Tensor any = Tensor::Scalar<int32_t>(-1);
  Tensor list = RunOp("TensorListReserve", {any, Tensor::Scalar<int32_t>(1)}, type).value();
  for (const int64_t size : {2, 3}) {
    list = RunOp("TensorListPushBack", {list, Floats({size})}).value();
  }
  const auto gather = [&](std::vector<int32_t> indices, const Tensor& shape) {
    return RunOp("TensorListGather",
                 {list, Tensor::Vector(absl::Span<const int32_t>(indices)), shape}, type);
  };
  EXPECT_EQ(gather({1}, any)->shape(), (Shape{1, 2}));
  EXPECT_EQ(gather({2}, any)->shape(), (Shape{1, 3}));
  EXPECT_EQ(gather({0, 2}, any)->shape(), (Shape{2, 3})) << "one has no value";
  EXPECT_EQ(gather({}, Tensor::Vector<int32_t>({2}))->shape(), (Shape{0, 2}));
  for (const auto& indices : {std::vector<int32_t>{1, 2}, {0}, {}}) {
    EXPECT_EQ(gather(indices, any).status().code(), kInvalid);
  }
}

TEST(UnusualArgumentsTest, PoppedElementsHaveTheShapeThatIsSaid) {
  const AttrMap type = {{"element_dtype", DType::kFloat}};
  const Tensor any = Tensor::Scalar<int32_t>(-1), seven = Tensor::Scalar<int32_t>(7);
  const Tensor two = Tensor::Vector<int32_t>({2});
  const Tensor none = RunOp("TensorListReserve", {any, Tensor::Scalar<int32_t>(1)}, type).value();
  const Tensor some = RunOp("TensorListPushBack", {none, Floats({2})}).value();
  const Tensor gap = RunOp("TensorListResize", {some, Tensor::Scalar<int32_t>(3)}).value();
  EXPECT_EQ(CodeOf("TensorListPopBack", {some, seven}, type), kOk) << "not looked at";
  EXPECT_EQ(CodeOf("TensorListPopBack", {gap, two}, type), kOk);
  EXPECT_EQ(CodeOf("TensorListPopBack", {gap, any}, type), kInvalid);
  EXPECT_EQ(CodeOf("TensorListPopBack", {gap, seven}, type), kInvalid);
}

TEST(UnusualArgumentsTest, ComponentsOfPriorityQueuesHaveShapes) {
  const auto make = [](std::vector<DType> types, std::vector<PartialShape> shapes) {
    return CodeOf("PriorityQueueV2", {},
                  {{"component_types", std::move(types)}, {"shapes", std::move(shapes)}});
  };
  EXPECT_EQ(make({DType::kFloat}, {PartialShape(Shape())}), kOk);
  EXPECT_EQ(make({DType::kFloat}, {}), kInvalid);
  EXPECT_EQ(make({}, {}), kInvalid);
}

TEST(UnusualArgumentsTest, OnlyQueuesThatPadTakeUnknownDimensions) {
  const auto make = [](absl::string_view op, PartialShape shape, AttrMap attrs = {}) {
    attrs["component_types"] = std::vector<DType>{DType::kFloat};
    attrs["shapes"] = std::vector<PartialShape>{std::move(shape)};
    return CodeOf(op, {}, std::move(attrs));
  };
  const AttrMap some = {{"min_after_dequeue", int64_t{0}}, {"capacity", int64_t{5}}};
  EXPECT_EQ(make("FIFOQueueV2", {2, -1}), kInvalid);
  EXPECT_EQ(make("RandomShuffleQueueV2", {2, -1}, some), kInvalid);
  EXPECT_EQ(make("PriorityQueueV2", {2, -1}), kInvalid);
  EXPECT_EQ(make("PaddingFIFOQueueV2", {2, -1}), kOk);
  EXPECT_EQ(make("FIFOQueueV2", PartialShape()), kOk) << "a scalar";
  EXPECT_EQ(make("PaddingFIFOQueueV2", PartialShape()), kInvalid);
}

}  // namespace
}  // namespace tessera
