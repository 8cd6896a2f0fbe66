// Numbers that TensorFlow 2.21 gives with oneDNN; without it, TensorFlow has no kernels of these
// ops that compute anything, so that the recorded calls lack them.
#include <cstring>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

template <typename T>
Tensor Quantized(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor = Tensor::Zeros(dtype, shape).value();
  std::memcpy(tensor.mutable_raw(), values.data(), values.size() * sizeof(T));
  return tensor;
}

template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  const T* const begin = reinterpret_cast<const T*>(tensor.raw());
  return std::vector<T>(begin, begin + tensor.num_elements());
}

Tensor Number(float x) { return Tensor::Scalar<float>(x); }
Tensor Floats(const std::vector<float>& x) {
  return Tensor::Of<float>(Shape{static_cast<int64_t>(x.size())}, x);
}

Tensor Images() {
  return Quantized<uint8_t>(DType::kQuint8, {1, 2, 2, 2}, {0, 10, 200, 255, 7, 90, 31, 128});
}
Tensor Filter() {
  return Quantized<int8_t>(DType::kQint8, {1, 1, 2, 3}, {5, -7, 100, -128, 64, 3});
}
AttrMap Valid(DType out) {
  return {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "VALID"}, {"out_type", out}};
}

absl::StatusOr<std::vector<Tensor>> Call(absl::string_view op, const std::vector<Tensor>& inputs,
                                         const AttrMap& attrs) {
  ASSIGN_OR_RETURN(KernelRunner runner, KernelRunner::Create(op, inputs, attrs));
  return runner.Run(inputs);
}

TEST(FusedConvolutionTest, AddsTheBiasInUnitsOfTheSums) {
  const auto y = Call("QuantizedConv2DWithBias",
                      {Images(), Filter(), Floats({1.5, -2.25, 0.1}), Number(0), Number(6),
                       Number(-1), Number(0.5)},
                      Valid(DType::kQint32))
                     .value();
  EXPECT_EQ(Elements<int32_t>(y[0]),
            (std::vector<int32_t>{6816, -11504, 570, -23544, 2776, 21305, -3389, -6433, 1510, -8133,
                                  -4169, 4024}));
  EXPECT_FLOAT_EQ(y[1].scalar<float>(), -298399.78125f);
  EXPECT_FLOAT_EQ(y[2].scalar<float>(), 298399.78125f);
}

TEST(FusedConvolutionTest, BringsChannelsToTheWidestRange) {
  const auto y = Call("QuantizedConv2DWithBias",
                      {Images(), Filter(), Floats({1.5, -2.25, 0.1}), Number(0), Number(6),
                       Floats({-1, -0.5, -0.25}), Floats({0.5, 0.5, 0.75})},
                      Valid(DType::kQint32))
                     .value();
  // Scaled sums in the middle of two integers may become either: oneDNN rounds the scale before.
  const std::vector<int32_t> want = {6816,  -11824, 562,  -23544, -4684, 16113,
                                     -3389, -9289,  1267, -8133,  -8157, 3153};
  const std::vector<int32_t> got = Elements<int32_t>(y[0]);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1) << i;
  EXPECT_EQ(y[1].shape(), Shape{3});
  EXPECT_FLOAT_EQ(y[1].data<float>()[1], -198933.1875f);
}

TEST(FusedConvolutionTest, RequantizesToBytes) {
  const auto relu =
      Call("QuantizedConv2DWithBiasAndReluAndRequantize",
           {Images(), Filter(), Floats({1.5, -2.25, 0.1}), Number(0), Number(6),
            Floats({-1, -0.5, -0.25}), Floats({0.5, 0.5, 0.75}), Number(0), Number(8)},
           Valid(DType::kQuint8))
          .value();
  EXPECT_EQ(Elements<uint8_t>(relu[0]),
            (std::vector<uint8_t>{40, 0, 3, 0, 0, 95, 0, 0, 7, 0, 0, 19}));
  const auto plain = Call("QuantizedConv2DWithBiasAndRequantize",
                          {Images(), Filter(), Floats({1.5, -2.25, 0.1}), Number(0), Number(6),
                           Number(-1), Number(0.5), Number(-4), Number(8)},
                          Valid(DType::kQint8))
                         .value();
  EXPECT_EQ(Elements<int8_t>(plain[0]),
            (std::vector<int8_t>{20, -34, 2, -69, 8, 63, -10, -19, 4, -24, -12, 12}));
  EXPECT_EQ(plain[1].scalar<float>(), -4);
}

TEST(FusedConvolutionTest, DepthwiseFiltersSeeTheirChannelAlone) {
  const Tensor filter = Quantized<int8_t>(DType::kQint8, {1, 1, 2, 2}, {5, -7, 100, -128});
  const auto y = Call("QuantizedDepthwiseConv2DWithBiasAndRelu",
                      {Images(), filter, Floats({1.1, 2.2, 3.3, 4.4}), Number(0), Number(6),
                       Number(-1), Number(0.5)},
                      Valid(DType::kQint32))
                     .value();
  EXPECT_EQ(Elements<int32_t>(y[0]),
            (std::vector<int32_t>{5937, 11874, 18812, 22469, 6937, 10474, 43312, 0, 5972, 11825,
                                  26812, 12229, 6092, 11657, 30612, 7365}));
}

TEST(FusedConvolutionTest, RefusesWhatDoesNotFit) {
  const auto call = [](const Tensor& filter, const Tensor& bias, const Tensor& min_filter) {
    return Call("QuantizedConv2DWithBias",
                {Images(), filter, bias, Number(0), Number(6), min_filter, Number(0.5)},
                Valid(DType::kQint32))
        .status()
        .code();
  };
  const Tensor narrow = Quantized<int8_t>(DType::kQint8, {1, 1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(call(narrow, Floats({1, 2, 3}), Number(-1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(call(Filter(), Floats({1, 2}), Number(-1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(call(Filter(), Floats({1, 2, 3}), Floats({-1, -1})),
            absl::StatusCode::kInvalidArgument);
}

TEST(QuantizedConcatV2Test, BringsBytesToACommonRange) {
  const auto join = [](DType dtype, float min0, float max0, float min1, float max1, int axis) {
    const Shape shape{1, 2};
    const Tensor a = Quantized<int8_t>(dtype, shape, {1, 2});
    const Tensor b = Quantized<int8_t>(dtype, shape, {3, 100});
    return Call("QuantizedConcatV2",
                {a, b, Tensor::Scalar<int32_t>(axis), Number(min0), Number(min1), Number(max0),
                 Number(max1)},
                {{"N", int64_t{2}}, {"T", dtype}, {"Tidx", DType::kInt32}})
        .value();
  };
  auto y = join(DType::kQint8, -1, 1, -2, 3, -1);
  EXPECT_EQ(y[0].shape(), (Shape{1, 4}));
  EXPECT_EQ(Elements<int8_t>(y[0]), (std::vector<int8_t>{1, 1, 24, 105}));
  EXPECT_EQ(y[1].scalar<float>(), -3);
  EXPECT_EQ(y[2].scalar<float>(), 3);
  y = join(DType::kQint8, 0.5, 1, 0.5, 1, 0);
  EXPECT_EQ(Elements<int8_t>(y[0]), (std::vector<int8_t>{96, 96, 97, 121}));
  // Unsigned numbers have no negative values here, whatever the ranges say.
  y = join(DType::kQuint8, -1, 1, -2, 3, 1);
  EXPECT_EQ(Elements<uint8_t>(y[0]), (std::vector<uint8_t>{0, 0, 0, 0}));
  EXPECT_EQ(y[1].scalar<float>(), 0);
  y = join(DType::kQuint8, 0, 1, 0, 2, 1);
  EXPECT_EQ(Elements<uint8_t>(y[0]), (std::vector<uint8_t>{1, 1, 3, 100}));
  y = join(DType::kQuint8, 0.5, 1, 0.5, 1, 0);
  EXPECT_EQ(Elements<uint8_t>(y[0]), (std::vector<uint8_t>{128, 129, 129, 178}));
}

Tensor Left() { return Quantized<uint8_t>(DType::kQuint8, {2, 3}, {0, 10, 200, 255, 7, 90}); }
Tensor Right() { return Quantized<int8_t>(DType::kQint8, {3, 2}, {5, -7, 100, -128, 64, 3}); }

TEST(FusedMatMulTest, AddsTheBiasInUnitsOfTheSums) {
  const auto y =
      Call("QuantizedMatMulWithBias",
           {Left(), Right(), Floats({1.5, -2.25}), Number(0), Number(6), Number(-1), Number(0.5)},
           {})
          .value();
  EXPECT_EQ(Elements<int32_t>(y[0]), (std::vector<int32_t>{21896, -12824, 15831, -14555}));
  EXPECT_FLOAT_EQ(y[1].scalar<float>(), -298399.78125f);
}

TEST(FusedMatMulTest, TakesABiasOfSumsAsItIs) {
  const auto y = Call("QuantizedMatMulWithBias",
                      {Left(), Right(), Quantized<int32_t>(DType::kQint32, {2}, {7, -9}),
                       Number(-1), Number(6), Number(-1), Number(0.5)},
                      {})
                     .value();
  EXPECT_EQ(Elements<int32_t>(y[0]), (std::vector<int32_t>{13807, -689, 7742, -2420}));
  EXPECT_FLOAT_EQ(y[2].scalar<float>(), 348133.0625f);
}

TEST(FusedMatMulTest, RequantizesAndDequantizes) {
  const auto bytes = Call("QuantizedMatMulWithBiasAndRequantize",
                          {Left(), Right(), Floats({1.5, -2.25}), Number(0), Number(6), Number(-1),
                           Number(0.5), Number(-4), Number(8)},
                          {{"Toutput", DType::kQuint8}})
                         .value();
  EXPECT_EQ(Elements<uint8_t>(bytes[0]), (std::vector<uint8_t>{129, 0, 93, 0}));
  const auto floats = Call("QuantizedMatMulWithBiasAndDequantize",
                           {Left(), Right(), Floats({1.5, -2.25}), Number(-1), Number(6),
                            Number(-1), Number(0.5), Number(-4), Number(8)},
                           {{"Toutput", DType::kFloat}, {"input_quant_mode", "SCALED"}})
                          .value();
  const std::vector<float> want = {4.05673933, -2.37598419, 2.93307090, -2.69668818};
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(floats[0].data<float>()[i], want[i]);
}

}  // namespace
}  // namespace tessera
