#include "runtime/kernels/elementwise.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor Iota(const Shape& shape, float first = 0) {
  Tensor t = Tensor::Allocate(DType::kFloat, shape).value();
  std::iota(t.flat<float>().begin(), t.flat<float>().end(), first);
  return t;
}

template <typename T>
std::vector<T> Values(const Tensor& t) {
  return std::vector<T>(t.flat<T>().begin(), t.flat<T>().end());
}

TEST(ElementwiseTest, ScalarsAddToAScalar) {
  const Tensor z = RunOp("AddV2", {Tensor::Scalar(1.5f), Tensor::Scalar(2.f)}).value();
  EXPECT_EQ(z.rank(), 0);
  EXPECT_EQ(z.scalar<float>(), 3.5f);
}

TEST(ElementwiseTest, AnOperandNobodyElseHoldsBecomesTheResult) {
  Tensor x = Iota({1000});
  const char* const memory = x.raw();
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  inputs.push_back(Tensor::Scalar(1.f));
  const Tensor z = RunOp("AddV2", std::move(inputs)).value();
  EXPECT_EQ(z.raw(), memory);
  EXPECT_EQ(z.flat<float>()[999], 1000);
}

TEST(ElementwiseTest, AnOperandHeldElsewhereStaysAsItIs) {
  const Tensor x = Iota({1000});
  const Tensor z = RunOp("AddV2", {x, Tensor::Scalar(1.f)}).value();
  EXPECT_NE(z.raw(), x.raw());
  EXPECT_EQ(x.flat<float>()[999], 999);
}

TEST(ElementwiseTest, TheSameTensorTwiceIsItsDouble) {
  const Tensor x = Iota({3});
  EXPECT_EQ(Values<float>(RunOp("AddV2", {x, x}).value()), (std::vector<float>{0, 2, 4}));
}

// Every pair of shapes against the definition by indices.
TEST(ElementwiseTest, BroadcastsByNumPysRules) {
  const std::vector<Shape> shapes = {{},           {1},          {3},         {2, 3},
                                     {2, 1},       {1, 3},       {4, 2, 3},   {4, 1, 3},
                                     {4, 2, 1},    {4, 1, 1},    {1, 2, 3},   {1, 1, 1},
                                     {5, 4, 2, 3}, {5, 1, 2, 1}, {5, 4, 1, 3}};
  auto at = [](const Tensor& t, const Shape& shape, int64_t index) {
    int64_t offset = 0, stride = 1;
    for (int d = shape.rank() - 1, k = t.rank() - 1; d >= 0; --d, --k) {
      const int64_t i = index % shape.dim(d);
      index /= shape.dim(d);
      if (k < 0) continue;
      offset += (t.dim(k) == 1 ? 0 : i) * stride;
      stride *= t.dim(k);
    }
    return t.flat<float>()[offset];
  };
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      const Tensor x = Iota(a, 1), y = Iota(b, 100);
      const Tensor z = RunOp("Sub", {x, y}).value();
      ASSERT_EQ(z.rank(), std::max(a.rank(), b.rank()));
      for (int64_t i = 0; i < z.num_elements(); ++i) {
        ASSERT_EQ(z.flat<float>()[i], at(x, z.shape(), i) - at(y, z.shape(), i))
            << a.ToString() << " - " << b.ToString() << " at " << i;
      }
    }
  }
}

TEST(ElementwiseTest, ThreadsCutLoopsAnywhere) {
  ThreadPool pool({.num_threads = 4});
  const Tensor x = Iota({7, 1, 9973}), y = Iota({7, 5, 1}, 3);
  const Tensor parallel = RunOp("Mul", {x, y}, {}, &pool).value();
  const Tensor single = RunOp("Mul", {x, y}).value();
  EXPECT_EQ(Values<float>(parallel), Values<float>(single));
}

TEST(ElementwiseTest, EmptyOperandsGiveAnEmptyResult) {
  EXPECT_EQ(RunOp("AddV2", {Iota({0, 3}), Iota({3})})->shape(), Shape({0, 3}));
  EXPECT_EQ(RunOp("AddV2", {Iota({0, 3}), Iota({2, 1, 3})})->shape(), Shape({2, 0, 3}));
  EXPECT_EQ(RunOp("Exp", {Iota({0})})->shape(), Shape({0}));
}

TEST(ElementwiseTest, ShapesThatDoNotBroadcastAreNamed) {
  const auto z = RunOp("AddV2", {Iota({2, 3}), Iota({4})});
  EXPECT_EQ(z.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(z.status().message().find("[2,3] and [4]"), absl::string_view::npos);
}

TEST(ElementwiseTest, EqualityOfIncompatibleShapesIsFalseIfTheNodeSaysSo) {
  const AttrMap attrs = {{"incompatible_shape_error", false}};
  EXPECT_FALSE(RunOp("Equal", {Iota({2}), Iota({3})}, attrs)->scalar<bool>());
  EXPECT_TRUE(RunOp("NotEqual", {Iota({2}), Iota({3})}, attrs)->scalar<bool>());
  EXPECT_FALSE(RunOp("Equal", {Iota({2}), Iota({3})}).ok());
}

TEST(ElementwiseTest, NarrowFloatsComputeInFloat) {
  const Tensor x =
      Tensor::Vector<Eigen::half>({Eigen::half(1.5f), Eigen::half(60000.f), Eigen::half(kNaN)});
  const Tensor z = RunOp("AddV2", {x, x}).value();
  EXPECT_EQ(static_cast<float>(z.flat<Eigen::half>()[0]), 3.f);
  EXPECT_EQ(static_cast<float>(z.flat<Eigen::half>()[1]), kInf);
  EXPECT_TRUE(std::isnan(static_cast<float>(z.flat<Eigen::half>()[2])));
  const Tensor less = RunOp("Less", {x, Tensor::Scalar(Eigen::half(2.f))}).value();
  EXPECT_EQ(Values<bool>(less), (std::vector<bool>{true, false, false}));
}

TEST(ElementwiseTest, NarrowFloatsBroadcastOverLongRows) {
  Tensor x = Tensor::Allocate(DType::kBfloat16, {3, 1500}).value();
  for (int i = 0; i < 4500; ++i) x.flat<Eigen::bfloat16>()[i] = Eigen::bfloat16(i % 7);
  const Tensor y = Tensor::Of<Eigen::bfloat16>(
      {3, 1}, {Eigen::bfloat16(1.f), Eigen::bfloat16(2.f), Eigen::bfloat16(3.f)});
  const Tensor z = RunOp("Mul", {x, y}).value();
  for (int i = 0; i < 4500; ++i) {
    ASSERT_EQ(static_cast<float>(z.flat<Eigen::bfloat16>()[i]), i % 7 * (i / 1500 + 1)) << i;
  }
}

TEST(ElementwiseTest, StringsConcatenateAndCompare) {
  const Tensor x = Tensor::Vector<std::string>({"a", "b"});
  const Tensor y = Tensor::Scalar("b");
  EXPECT_EQ(Values<std::string>(RunOp("Add", {x, y}).value()),
            (std::vector<std::string>{"ab", "bb"}));
  EXPECT_EQ(Values<bool>(RunOp("Equal", {x, y}).value()), (std::vector<bool>{false, true}));
}

TEST(ElementwiseTest, DivisionOfIntegersByZeroIsAnError) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2}), y = Tensor::Vector<int32_t>({1, 0});
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "Mod"}) {
    EXPECT_EQ(RunOp(op, {x, y}).status().code(), absl::StatusCode::kInvalidArgument) << op;
  }
  // Nothing is divided here.
  const Tensor none = Tensor::Vector<int32_t>({});
  EXPECT_TRUE(RunOp("FloorDiv", {none, Tensor::Scalar<int32_t>(0)}).ok());
}

TEST(ElementwiseTest, AZeroDivisorIsFoundWhereverItIsUsed) {
  ThreadPool pool({.num_threads = 4});
  Tensor x = Tensor::Zeros(DType::kInt32, {3, 100000}).value();
  Tensor y = Tensor::Zeros(DType::kInt32, {100000}).value();
  for (int32_t& v : y.flat<int32_t>()) v = 1;
  EXPECT_TRUE(RunOp("FloorDiv", {x, y}, {}, &pool).ok());
  y.flat<int32_t>()[99999] = 0;
  const absl::Status broadcast = RunOp("FloorDiv", {x, y}, {}, &pool).status();
  EXPECT_EQ(broadcast, absl::InvalidArgumentError("division of an integer by zero"));
  const absl::Status flat = RunOp("FloorDiv", {x.SubSlice(0), y}, {}, &pool).status();
  EXPECT_EQ(flat, broadcast);
  EXPECT_EQ(RunOp("TruncateDiv", {x, y}).status().code(), absl::StatusCode::kInternal);
}

TEST(ElementwiseTest, ABiasIsAddedToItsChannels) {
  const Tensor bias = Tensor::Vector({10.f, 20.f});
  EXPECT_EQ(Values<float>(RunOp("BiasAdd", {Iota({2, 2}), bias}).value()),
            (std::vector<float>{10, 21, 12, 23}));
  EXPECT_EQ(Values<float>(
                RunOp("BiasAdd", {Iota({1, 2, 1, 2}), bias}, {{"data_format", "NCHW"}}).value()),
            (std::vector<float>{10, 11, 22, 23}));
  EXPECT_EQ(RunOp("BiasAdd", {Iota({0, 2}), bias})->shape(), Shape({0, 2}));
  EXPECT_EQ(RunOp("BiasAdd", {Iota({2, 3}), bias}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ElementwiseTest, TheGradientOfABiasSumsOverAllButTheChannels) {
  EXPECT_EQ(Values<float>(RunOp("BiasAddGrad", {Iota({2, 3})}).value()),
            (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(
      Values<float>(RunOp("BiasAddGrad", {Iota({2, 2, 1, 2})}, {{"data_format", "NCHW"}}).value()),
      (std::vector<float>{10, 18}));
}

TEST(ElementwiseTest, TheLeastIntegerDividedByMinusOneWraps) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const Tensor x = Tensor::Scalar(kLeast), y = Tensor::Scalar<int32_t>(-1);
  EXPECT_EQ(RunOp("Div", {x, y})->scalar<int32_t>(), kLeast);
  EXPECT_EQ(RunOp("FloorDiv", {x, y})->scalar<int32_t>(), kLeast);
  EXPECT_EQ(RunOp("FloorMod", {x, y})->scalar<int32_t>(), 0);
}

TEST(ElementwiseTest, FlooredDivisionRoundsDownAndKeepsTheDivisorsSign) {
  const Tensor x = Tensor::Vector<int64_t>({7, -7, 7, -7}),
               y = Tensor::Vector<int64_t>({3, 3, -3, -3});
  EXPECT_EQ(Values<int64_t>(RunOp("FloorDiv", {x, y}).value()),
            (std::vector<int64_t>{2, -3, -3, 2}));
  EXPECT_EQ(Values<int64_t>(RunOp("FloorMod", {x, y}).value()),
            (std::vector<int64_t>{1, 2, -2, -1}));
  EXPECT_EQ(Values<int64_t>(RunOp("TruncateDiv", {x, y}).value()),
            (std::vector<int64_t>{2, -2, -2, 2}));
}

// Expects the quotients of the numbers around all multiples of `divisors` that T holds to be those
// of the language.
template <typename T>
void ExpectExactQuotients(const std::vector<T>& divisors) {
  std::vector<T> x, y;
  for (const T divisor : divisors) {
    for (const int64_t factor : {1, 2, 3, 7, 127, 255, 65535, 1'000'003}) {
      for (const int64_t distance : {-1, 0, 1}) {
        x.push_back(static_cast<T>(factor * divisor + distance));
        y.push_back(divisor);
      }
    }
    for (const T extreme : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
      x.push_back(extreme);
      y.push_back(divisor);
    }
  }
  for (const char* op : {"TruncateDiv", "FloorDiv"}) {
    const Tensor z = RunOp(op, {Tensor::Vector<T>(x), Tensor::Vector<T>(y)}).value();
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t dividend = x[i], divisor = y[i];
      const bool rounds_down =
          op[0] == 'F' && dividend % divisor != 0 && (dividend < 0) != (divisor < 0);
      EXPECT_EQ(z.flat<T>()[i], static_cast<T>(dividend / divisor - (rounds_down ? 1 : 0)))
          << op << " " << dividend << " " << divisor;
    }
  }
}

TEST(ElementwiseTest, QuotientsOfShortIntegersAreExact) {
  ExpectExactQuotients<uint32_t>({1, 2, 3, 10, 4093, 65'537, 2'147'483'647, 4'294'967'295});
  ExpectExactQuotients<int32_t>(
      {1, -1, 2, -3, 10, -4093, 65'537, 2'147'483'647, -2'147'483'647 - 1});
  ExpectExactQuotients<int16_t>({1, -1, 3, -7, 32'767, -32'768});
  ExpectExactQuotients<uint8_t>({1, 3, 10, 255});
}

template <typename T, typename Key>
void ExpectKeysInTotalOrder() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> x = {-Limits::quiet_NaN(),
                            -Limits::infinity(),
                            Limits::lowest(),
                            T{-1},
                            -Limits::denorm_min(),
                            T{-0.0},
                            T{0},
                            Limits::denorm_min(),
                            T{1},
                            Limits::max(),
                            Limits::infinity(),
                            Limits::quiet_NaN()};
  const Tensor keys = RunOp("_OrderKey", {Tensor::Vector<T>(x)}, {{"K", DTypeOf<Key>}}).value();
  for (size_t i = 1; i < x.size(); ++i) {
    EXPECT_LT(keys.flat<Key>()[i - 1], keys.flat<Key>()[i]) << x[i];
  }
}

TEST(ElementwiseTest, KeysHaveTheTotalOrderOfFloats) {
  ExpectKeysInTotalOrder<float, int32_t>();
  ExpectKeysInTotalOrder<double, int64_t>();
}

TEST(ElementwiseTest, MaximumAndMinimumHandOnNaN) {
  const Tensor x = Tensor::Vector({kNaN, 1.f, 2.f}), y = Tensor::Vector({1.f, kNaN, 3.f});
  for (const char* op : {"Maximum", "Minimum"}) {
    const Tensor z = RunOp(op, {x, y}).value();
    EXPECT_TRUE(std::isnan(z.flat<float>()[0])) << op;
    EXPECT_TRUE(std::isnan(z.flat<float>()[1])) << op;
  }
  EXPECT_EQ(RunOp("Maximum", {x, y})->flat<float>()[2], 3.f);
}

TEST(ElementwiseTest, SmallIntegersWrap) {
  const Tensor x = Tensor::Vector<int8_t>({127, -128}), y = Tensor::Scalar<int8_t>(1);
  EXPECT_EQ(Values<int8_t>(RunOp("AddV2", {x, y}).value()), (std::vector<int8_t>{-128, -127}));
  EXPECT_EQ(Values<int8_t>(RunOp("Neg", {x}).value()), (std::vector<int8_t>{-127, -128}));
}

TEST(ElementwiseTest, AnAttributeIsAnArgumentOfTheFunction) {
  const Tensor x = Iota({2, 3}, -3);
  EXPECT_EQ(Values<float>(RunOp("LeakyRelu", {x}, {{"alpha", 0.5f}}).value()),
            (std::vector<float>{-1.5, -1, -0.5, 0, 1, 2}));
  const Tensor wide = Tensor::Vector({-2.0, 2.0});
  EXPECT_EQ(Values<double>(RunOp("LeakyRelu", {wide}, {{"alpha", 0.25f}}).value()),
            (std::vector<double>{-0.5, 2}));
}

TEST(ElementwiseTest, AnAttributeHasThePrecisionOfTheElements) {
  // 0.1 is 0.10009765625 in bfloat16; its product with -3 lies between two others.
  const Tensor x = Tensor::Vector<Eigen::bfloat16>({Eigen::bfloat16(-3.f), Eigen::bfloat16(3.f)});
  const auto y = Values<Eigen::bfloat16>(RunOp("LeakyRelu", {x}, {{"alpha", 0.1f}}).value());
  EXPECT_EQ(static_cast<float>(y[0]),
            static_cast<float>(Eigen::bfloat16(-3 * static_cast<float>(Eigen::bfloat16(0.1f)))));
  EXPECT_EQ(static_cast<float>(y[1]), 3);
}

// TensorFlow compares with <=, so that a tolerance of 0 asks for equal numbers.
TEST(ElementwiseTest, NumbersAsFarApartAsTheToleranceAreApproximatelyEqual) {
  const Tensor x = Tensor::Vector({1.f, 1.f, 1.f, kInf, kNaN});
  const Tensor y = Tensor::Vector({1.f, 1.5f, 2.f, kInf, kNaN});
  const auto equal = [&](float tolerance) {
    return Values<bool>(RunOp("ApproximateEqual", {x, y}, {{"tolerance", tolerance}}).value());
  };
  EXPECT_EQ(equal(0.f), (std::vector<bool>{true, false, false, false, false}));
  EXPECT_EQ(equal(0.5f), (std::vector<bool>{true, true, false, false, false}));
}

TEST(ElementwiseTest, GradientsWantEqualShapes) {
  EXPECT_EQ(RunOp("ReluGrad", {Iota({2, 3}), Iota({3})}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ElementwiseTest, ShiftsOutOfRangeAreBounded) {
  const Tensor x = Tensor::Vector<int32_t>({-8, -8, -8}), y = Tensor::Vector<int32_t>({1, 99, -5});
  EXPECT_EQ(Values<int32_t>(RunOp("RightShift", {x, y}).value()),
            (std::vector<int32_t>{-4, -1, -8}));
}

TEST(ElementwiseTest, FunctionsOfComplexNumbersGiveParts) {
  const Tensor x = Tensor::Vector<std::complex<float>>({{3, 4}, {0, -1}});
  EXPECT_EQ(Values<float>(RunOp("ComplexAbs", {x}).value()), (std::vector<float>{5, 1}));
  EXPECT_EQ(Values<float>(RunOp("Imag", {x}).value()), (std::vector<float>{4, -1}));
}

TEST(ElementwiseTest, TheLowerBoundWinsOverTheUpperOne) {
  const Tensor x = Iota({10}), low = Tensor::Scalar(5.f), high = Tensor::Scalar(3.f);
  EXPECT_EQ(Values<float>(RunOp("ClipByValue", {x, low, high}).value()), std::vector<float>(10, 5));
}

// A result of another type would be written past the end of the output.
TEST(ElementwiseTest, PartsAndPairsHaveTheirPrecision) {
  const Tensor x = Iota({3});
  EXPECT_TRUE(RunOp("Complex", {x, x}, {{"Tout", DType::kComplex64}}).ok());
  EXPECT_EQ(RunOp("Complex", {x, x}, {{"Tout", DType::kComplex128}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const Tensor z = Tensor::Zeros(DType::kComplex128, {3}).value();
  for (const char* op : {"Real", "Imag", "Angle", "ComplexAbs"}) {
    EXPECT_TRUE(RunOp(op, {z}, {{"Tout", DType::kDouble}}).ok()) << op;
    EXPECT_EQ(RunOp(op, {z}, {{"Tout", DType::kFloat}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << op;
  }
}

// As TensorFlow: only floats are truncated to bfloat16.
TEST(ElementwiseTest, DoublesRoundToBfloat16) {
  auto cast = [](Tensor x) {
    const Tensor y =
        RunOp("Cast", {std::move(x)}, {{"DstT", DType::kBfloat16}, {"Truncate", true}}).value();
    return static_cast<float>(y.scalar<Eigen::bfloat16>());
  };
  EXPECT_EQ(cast(Tensor::Scalar(1.0117188)), 1.015625f);
  EXPECT_EQ(cast(Tensor::Scalar(1.0117188f)), 1.0078125f);
}

}  // namespace
}  // namespace tessera
