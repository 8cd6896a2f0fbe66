// Composite elementwise ops round to 16 bits after each step, as TensorFlow's do.

#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/testing/narrow_tensor.h"

namespace tessera {
namespace {

constexpr int64_t kCount = 65536;

enum class Operands {
  kAll,       // each number of the dtype is the first operand once
  kModerate,  // numbers whose products are neither infinite nor denormal
};

// Bits of the first operand, and of the second one.
uint16_t FirstBits(Operands operands, int64_t i) {
  const uint16_t bits = static_cast<uint16_t>(i);
  return operands == Operands::kAll ? bits : (bits & 0x8fff) | 0x3000;
}
uint16_t SecondBits(Operands operands, int64_t i) {
  return FirstBits(operands, (i * 40503 + 12345) & 0xffff);
}

template <typename Bits>
Tensor TensorOfBits(DType dtype, Bits bits_of) {
  Tensor tensor = Tensor::Allocate(dtype, {kCount}).value();
  uint16_t* const bits = reinterpret_cast<uint16_t*>(tensor.mutable_raw());
  for (int64_t i = 0; i < kCount; ++i) bits[i] = ZeroIfDenormal(dtype, bits_of(i));
  return tensor;
}

bool IsUnary(absl::string_view op) { return OpRegistry::Global().Find(op)->inputs.size() == 1; }

Tensor RunNarrow(absl::string_view op, DType dtype, Operands operands) {
  std::vector<Tensor> inputs;
  inputs.push_back(TensorOfBits(dtype, [&](int64_t i) { return FirstBits(operands, i); }));
  if (!IsUnary(op)) {
    inputs.push_back(TensorOfBits(dtype, [&](int64_t i) { return SecondBits(operands, i); }));
  }
  return RunOp(op, std::move(inputs)).value();
}

struct RecordedCase {
  const char* op;
  DType dtype;
  Operands operands;
  uint64_t checksum;  // of TensorFlow's results
};
std::ostream& operator<<(std::ostream& out, const RecordedCase& recorded) {
  return out << recorded.op << " of " << DTypeName(recorded.dtype);
}

constexpr Operands kAll = Operands::kAll, kModerate = Operands::kModerate;
// Printed by tests/conformance/narrow_checksums.py. Xlogy and Xlog1py are not run on all halves,
// since logarithms of a few of them differ in the last bit.
constexpr RecordedCase kRecordedCases[] = {
    {"Elu", DType::kHalf, kAll, 0x688b5971d45509e6},
    {"Selu", DType::kHalf, kAll, 0x8f65280ad4df1539},
    {"Softplus", DType::kHalf, kAll, 0x0ae3600b31c4fa86},
    {"Softsign", DType::kHalf, kAll, 0xfe4ccfacfa7160d0},
    {"Sigmoid", DType::kHalf, kAll, 0x9f77a8ea0880f899},
    {"EluGrad", DType::kHalf, kAll, 0x5de866e5bb871c3e},
    {"EluGrad", DType::kHalf, kModerate, 0x7506cb62b926c830},
    {"SeluGrad", DType::kHalf, kAll, 0xf466119d5b1ea47d},
    {"SeluGrad", DType::kHalf, kModerate, 0x257408de159ed4e8},
    {"SoftplusGrad", DType::kHalf, kAll, 0xae127c73b4a37ee0},
    {"SoftplusGrad", DType::kHalf, kModerate, 0xb0306f24c1ca9d68},
    {"SoftsignGrad", DType::kHalf, kAll, 0x13aa58295459f49c},
    {"SoftsignGrad", DType::kHalf, kModerate, 0xe9f691cd810b9c60},
    {"TanhGrad", DType::kHalf, kAll, 0xd1eb08938b9ca870},
    {"TanhGrad", DType::kHalf, kModerate, 0xc54c3fe58cc54860},
    {"SigmoidGrad", DType::kHalf, kAll, 0x04dcfcea5ac9395b},
    {"SigmoidGrad", DType::kHalf, kModerate, 0x18088f09b3f775e0},
    {"SqrtGrad", DType::kHalf, kAll, 0xabd9740518b9cc2a},
    {"SqrtGrad", DType::kHalf, kModerate, 0xdc30b3b7159a0cc0},
    {"RsqrtGrad", DType::kHalf, kAll, 0x506220a2978baf6a},
    {"RsqrtGrad", DType::kHalf, kModerate, 0xad41b6ac1e738600},
    {"ReciprocalGrad", DType::kHalf, kAll, 0xbf69c4c234df93c4},
    {"ReciprocalGrad", DType::kHalf, kModerate, 0x764bbe9d17d01280},
    {"SquaredDifference", DType::kHalf, kAll, 0x8c53b69181011354},
    {"SquaredDifference", DType::kHalf, kModerate, 0x7137f82026530e5a},
    {"FloorDiv", DType::kHalf, kAll, 0x5b93902f123fae7a},
    {"FloorDiv", DType::kHalf, kModerate, 0xa73d857cdb936b00},
    {"TruncateDiv", DType::kHalf, kAll, 0x8a55c47e46e9cdea},
    {"TruncateDiv", DType::kHalf, kModerate, 0x3a2c03b15440d000},
    {"Xdivy", DType::kHalf, kAll, 0xe439fc73708f222a},
    {"Xdivy", DType::kHalf, kModerate, 0x30de05982d8c1880},
    {"Xlogy", DType::kHalf, kModerate, 0x8138c2353878ed58},
    {"Xlog1py", DType::kHalf, kModerate, 0x5cab976ad8168c50},
    {"Elu", DType::kBfloat16, kAll, 0x4c66b17b4ab4a1e9},
    {"Selu", DType::kBfloat16, kAll, 0xc91c1597f863493e},
    {"Softplus", DType::kBfloat16, kAll, 0xa3aa8a99faf46c1f},
    {"Softsign", DType::kBfloat16, kAll, 0xe48814b648a65c68},
    {"Sigmoid", DType::kBfloat16, kAll, 0x0cbeb4ae0e74d2dc},
    {"EluGrad", DType::kBfloat16, kModerate, 0x8bf8e96db303c188},
    {"SeluGrad", DType::kBfloat16, kModerate, 0x6ec19998b7fe25d0},
    {"SoftplusGrad", DType::kBfloat16, kModerate, 0x650987c275128ea8},
    {"SoftsignGrad", DType::kBfloat16, kModerate, 0x189835259faccf50},
    {"TanhGrad", DType::kBfloat16, kModerate, 0xb780a25da1d96b30},
    {"SigmoidGrad", DType::kBfloat16, kModerate, 0x67d27976fe064850},
    {"SqrtGrad", DType::kBfloat16, kModerate, 0xcde5c85c3130fe00},
    {"RsqrtGrad", DType::kBfloat16, kModerate, 0xa95cf14775afc400},
    {"ReciprocalGrad", DType::kBfloat16, kModerate, 0x2c2845ee53318400},
    {"SquaredDifference", DType::kBfloat16, kModerate, 0xcabf9c1f61f21ca2},
    {"FloorDiv", DType::kBfloat16, kModerate, 0xdcfcb55329397f78},
    {"TruncateDiv", DType::kBfloat16, kModerate, 0x3d09eba2be662980},
    {"Xdivy", DType::kBfloat16, kModerate, 0x30e2ea9a15359000},
    {"Xlogy", DType::kBfloat16, kModerate, 0x344bd50e6c0bc568},
    {"Xlog1py", DType::kBfloat16, kModerate, 0xe941d88a534a9480},
};

class RecordedBitsTest : public testing::TestWithParam<RecordedCase> {};

TEST_P(RecordedBitsTest, AreTensorFlows) {
  const RecordedCase& recorded = GetParam();
  const Tensor result = RunNarrow(recorded.op, recorded.dtype, recorded.operands);
  EXPECT_EQ(NarrowChecksum(result), recorded.checksum);
}
INSTANTIATE_TEST_SUITE_P(All, RecordedBitsTest, testing::ValuesIn(kRecordedCases));

// Formulas in the arithmetic of Eigen's narrow types, which rounds each result.
template <typename T>
void ExpectFormula(absl::string_view op, DType dtype, std::function<T(T x, T y)> formula) {
  const Tensor result = RunNarrow(op, dtype, kModerate);
  int differ = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const T x = Eigen::numext::bit_cast<T>(FirstBits(kModerate, i));
    const T y = Eigen::numext::bit_cast<T>(SecondBits(kModerate, i));
    if (Eigen::numext::bit_cast<uint16_t>(formula(x, y)) != NarrowBits(result, i)) ++differ;
  }
  EXPECT_EQ(differ, 0) << op << " of " << DTypeName(dtype);
}

template <typename T>
void ExpectFormulas(DType dtype) {
  const T one = T(1.0f);
  ExpectFormula<T>("TanhGrad", dtype, [=](T y, T g) { return g * (one - y * y); });
  ExpectFormula<T>("SigmoidGrad", dtype, [=](T y, T g) { return g * (y * (one - y)); });
  ExpectFormula<T>("ReciprocalGrad", dtype, [](T y, T g) { return -g * (y * y); });
  ExpectFormula<T>("SqrtGrad", dtype, [](T y, T g) { return g * (T(0.5f) / y); });
  ExpectFormula<T>("RsqrtGrad", dtype, [](T y, T g) { return g * y * (T(-0.5f) * (y * y)); });
  ExpectFormula<T>("SquaredDifference", dtype, [](T x, T y) { return (x - y) * (x - y); });
  ExpectFormula<T>("Softsign", dtype, [=](T x, T) { return x / (one + Eigen::numext::abs(x)); });
  ExpectFormula<T>("FloorDiv", dtype, [](T x, T y) { return Eigen::numext::floor(x / y); });
  ExpectFormula<T>("EluGrad", dtype, [=](T g, T y) { return y < T(0.0f) ? g * (y + one) : g; });
}

TEST(StepwiseElementwiseTest, EachStepOfAFormulaIsRoundedToHalf) {
  ExpectFormulas<Eigen::half>(DType::kHalf);
}

TEST(StepwiseElementwiseTest, EachStepOfAFormulaIsRoundedToBfloat16) {
  ExpectFormulas<Eigen::bfloat16>(DType::kBfloat16);
}

Tensor Halves(std::initializer_list<float> values) {
  std::vector<Eigen::half> halves;
  for (const float value : values) halves.push_back(static_cast<Eigen::half>(value));
  return Tensor::Vector<Eigen::half>(halves);
}

TEST(StepwiseElementwiseTest, IntermediateResultsOverflowAndUnderflow) {
  // exp(12) is infinite in half, y * y denormal, and 300 * 300 infinite.
  EXPECT_EQ(static_cast<float>(RunOp("Sigmoid", {Halves({12})})->flat<Eigen::half>()[0]), 1);
  const Tensor rsqrt = RunOp("RsqrtGrad", {Halves({0.00385284424f}), Halves({22240})}).value();
  EXPECT_EQ(static_cast<float>(rsqrt.flat<Eigen::half>()[0]), -0.00063323974609375f);
  const Tensor tanh = RunOp("TanhGrad", {Halves({300}), Halves({1})}).value();
  EXPECT_TRUE(std::isinf(static_cast<float>(tanh.flat<Eigen::half>()[0])));
}

TEST(StepwiseElementwiseTest, GradientsOfZeroAndNaNPass) {
  for (const char* op : {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad"}) {
    const Tensor z = RunOp(op, {Halves({INFINITY, NAN, 2, 0}), Halves({0, 0, NAN, 0})}).value();
    EXPECT_EQ(static_cast<float>(z.flat<Eigen::half>()[0]), 0) << op;
    EXPECT_EQ(static_cast<float>(z.flat<Eigen::half>()[1]), 0) << op;
    EXPECT_TRUE(std::isnan(static_cast<float>(z.flat<Eigen::half>()[2]))) << op;
    EXPECT_EQ(static_cast<float>(z.flat<Eigen::half>()[3]), 0) << op;
  }
}

TEST(StepwiseElementwiseTest, BroadcastsAndTakesScalarsAndEmptyTensors) {
  const Tensor x = Halves({1.5f, -2, 3}), y = Halves({0.5f});
  const Tensor z = RunOp("SquaredDifference", {x, y}).value();
  EXPECT_EQ(static_cast<float>(z.flat<Eigen::half>()[1]), 6.25f);
  EXPECT_EQ(RunOp("TanhGrad", {Halves({}), Halves({})})->num_elements(), 0);
  EXPECT_EQ(RunOp("Selu", {Tensor::Scalar(static_cast<Eigen::half>(0.f))})->rank(), 0);
}

}  // namespace
}  // namespace tessera
