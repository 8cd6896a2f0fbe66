// Fused elementwise sweeps on the emulated GPU beside those of the CPU: one kernel a call, and the
// source that NVRTC would get, compiled by the host's compiler.
#include "runtime/kernels/primitives/fused_elementwise.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cuda/sweep_source.h"
#include "runtime/kernels/primitives/cuda/testing/host_compiler.h"

namespace tessera {
namespace {

constexpr absl::string_view kEmulated = "EMULATED_GPU";
constexpr float kInf = std::numeric_limits<float>::infinity();

const std::vector<std::string>& UnaryFunctions() {
  static const auto* const names = new std::vector<std::string>{
      "Abs",      "Elu",      "Erf",  "Erfc",   "Exp",   "Expm1",     "Inv",     "Log",
      "Log1p",    "Neg",      "Relu", "Relu6",  "Rsqrt", "Selu",      "Sigmoid", "Sign",
      "Softplus", "Softsign", "Sqrt", "Square", "Tanh",  "Reciprocal"};
  return *names;
}
const std::vector<std::string>& BinaryFunctions() {
  static const auto* const names = new std::vector<std::string>{
      "Add",          "AddV2",    "Div",       "DivNoNan", "EluGrad",          "InvGrad",
      "Maximum",      "Minimum",  "Mul",       "MulNoNan", "RealDiv",          "ReciprocalGrad",
      "Relu6Grad",    "ReluGrad", "RsqrtGrad", "SeluGrad", "SigmoidGrad",      "SoftplusGrad",
      "SoftsignGrad", "SqrtGrad", "Sub",       "TanhGrad", "SquaredDifference"};
  return *names;
}

ElementwiseSweep::Operand InMemory(int base, int64_t column_stride, int64_t row_stride = 0,
                                   std::initializer_list<int64_t> outer = {}) {
  ElementwiseSweep::Operand operand;
  operand.base = base;
  operand.column_stride = column_stride;
  operand.row_stride = row_stride;
  operand.outer_strides = outer;
  return operand;
}
ElementwiseSweep::Operand Scratch(int slot, size_t outer = 0, int64_t size = sizeof(float)) {
  ElementwiseSweep::Operand operand;
  operand.base = -1;
  operand.slot = slot;
  operand.column_stride = size;
  operand.outer_strides.resize(outer, 0);
  return operand;
}

class FusedElementwiseTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    compiles_ = GetParam();
    const std::string folder = absl::StrCat(::testing::TempDir(), "/sweeps");
    if (compiles_ && std::system("g++ --version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "needs g++";
    }
    emulation::CompileSweepsBy(compiles_ ? "g++" : "", folder);
    compiled_before_ = emulation::NumCompiledSweeps();
  }

  std::vector<float> Floats(size_t count, float low = -3, float high = 3) {
    std::vector<float> values(count);
    std::uniform_real_distribution<float> distribution(low, high);
    for (float& x : values) x = distribution(random_);
    return values;
  }

  // Runs the sweep on arrays of `bases`, on both devices, and compares all arrays.
  void Check(const std::vector<std::string>& functions, const ElementwiseSweep& sweep,
             const std::vector<std::vector<float>>& bases) {
    std::vector<std::vector<float>> after[2];
    for (const absl::string_view device : {kCpu, kEmulated}) {
      auto* const make = PrimitiveImplementations<FusedElementwise>::Find(device);
      ASSERT_NE(make, nullptr) << device;
      const OpDef op;
      const AttrMap attrs;
      const KernelBuild build(op, "fused", attrs, {}, {}, /*device=*/nullptr,
                              /*functions=*/nullptr);
      const auto fused = make(build, functions);
      ASSERT_TRUE(build.status().ok()) << build.status();
      auto& arrays = after[device == kCpu ? 0 : 1];
      arrays = bases;
      std::vector<char*> addresses;
      for (auto& array : arrays) addresses.push_back(reinterpret_cast<char*>(array.data()));
      const absl::Status status = fused->Run(ctx_, sweep, addresses);
      ASSERT_TRUE(status.ok()) << device << ": " << status;
    }
    for (size_t base = 0; base < bases.size(); ++base) {
      for (size_t i = 0; i < bases[base].size(); ++i) {
        const float want = after[0][base][i], have = after[1][base][i];
        if (std::isnan(want) || std::isinf(want)) {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(have) : want == have)
              << "array " << base << " at " << i << ": " << want << ", " << have;
        } else {
          ASSERT_NEAR(want, have, 2e-6f * (1 + std::abs(want))) << "array " << base << " at " << i;
        }
      }
    }
    EXPECT_EQ(emulation::NumCompiledSweeps() > compiled_before_, compiles_);
  }

  bool compiles_ = false;
  int compiled_before_ = 0;
  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
  std::mt19937 random_{11};
};

// Each function to an array of its own, of numbers that are special too.
TEST_P(FusedElementwiseTest, EveryFunction) {
  constexpr int64_t kCount = 1000;
  std::vector<std::string> functions = UnaryFunctions();
  functions.insert(functions.end(), BinaryFunctions().begin(), BinaryFunctions().end());
  std::vector<std::vector<float>> bases = {Floats(kCount), Floats(kCount)};
  const float kSpecial[] = {0.0f, -0.0f, kInf, -kInf, std::nanf(""), 1.0f, -1.0f, 100.0f};
  for (int i = 0; i < 64; ++i) {
    bases[0][i] = kSpecial[i / 8];
    bases[1][i] = kSpecial[i % 8];
  }
  ElementwiseSweep sweep;
  sweep.columns = kCount;
  sweep.operands = {InMemory(0, 4), InMemory(1, 4)};
  for (size_t f = 0; f < functions.size(); ++f) {
    EXPECT_FALSE(cuda::FindSweepFunction(functions[f]).functor.empty()) << functions[f];
    const int result = static_cast<int>(sweep.operands.size());
    sweep.operands.push_back(InMemory(result, 4));
    bases.emplace_back(kCount);
    sweep.calls.push_back(
        {static_cast<int>(f), f < UnaryFunctions().size() ? 1 : 2, {result, 0, 1}});
  }
  Check(functions, sweep, bases);
}

// y = max(x * scale, 0) + x in place of x, whose count is no multiple of what a thread takes at
// once.
TEST_P(FusedElementwiseTest, ScratchAndScalarsInPlaceOfAnOperand) {
  for (const int64_t count : {int64_t{1}, int64_t{7}, int64_t{1024}, int64_t{5001}}) {
    ElementwiseSweep sweep;
    sweep.columns = count;
    sweep.operands = {InMemory(0, count == 1 ? 0 : 4), InMemory(1, 0), Scratch(0), Scratch(1),
                      InMemory(0, count == 1 ? 0 : 4)};
    sweep.num_slots = 2;
    sweep.calls = {{0, 2, {2, 0, 1}}, {1, 1, {3, 2}}, {2, 2, {4, 3, 0}}};
    Check({"Mul", "Relu", "AddV2"}, sweep, {Floats(count), {-1.5f}});
  }
}

// [2, 3, 5, 7] = [2, 3, 5, 7] * [5, 1] + [7], stored as a part of rows of 9.
TEST_P(FusedElementwiseTest, BroadcastsAndPartsOfRows) {
  ElementwiseSweep sweep;
  sweep.columns = 7;
  sweep.rows = 5;
  sweep.outer_dims = {2, 3};
  sweep.operands = {InMemory(0, 4, 28, {420, 140}), InMemory(1, 0, 4, {0, 0}),
                    InMemory(2, 4, 0, {0, 0}), Scratch(0, 2), InMemory(3, 4, 36, {540, 180})};
  sweep.operands[4].offset = 8;
  sweep.num_slots = 1;
  sweep.calls = {{0, 2, {3, 0, 1}}, {1, 2, {4, 3, 2}}};
  Check({"Mul", "AddV2"}, sweep, {Floats(210), Floats(5), Floats(7), Floats(2 * 3 * 5 * 9)});
}

// A result that is stored and read again: z = exp(y) with y = x - c, both kept.
TEST_P(FusedElementwiseTest, ResultThatIsAnOutputAndAnOperand) {
  ElementwiseSweep sweep;
  sweep.columns = 12;
  sweep.rows = 3;
  sweep.operands = {InMemory(0, 4, 48), InMemory(1, 0, 4), InMemory(2, 4, 48), InMemory(3, 4, 48)};
  sweep.calls = {{0, 2, {2, 0, 1}}, {1, 1, {3, 2}}};
  Check({"Sub", "Exp"}, sweep, {Floats(36), Floats(3), Floats(36), Floats(36)});
}

// y = (x > limit and not x == z) ? x : z, where NaN compares false. Bools are in scratch memory.
TEST_P(FusedElementwiseTest, ChoicesByComparisons) {
  for (const int64_t count : {int64_t{3}, int64_t{1024}}) {
    std::vector<float> x = Floats(count), z = x;
    x[0] = std::nanf("");
    z[1] = 5;
    ElementwiseSweep sweep;
    sweep.columns = count;
    sweep.operands = {InMemory(0, 4),   InMemory(1, 4),   InMemory(2, 0),   Scratch(0, 0, 1),
                      Scratch(1, 0, 1), Scratch(2, 0, 1), Scratch(0, 0, 1), InMemory(3, 4)};
    sweep.num_slots = 3;
    sweep.calls = {{0, 2, {3, 0, 2}},
                   {1, 2, {4, 0, 1}},
                   {2, 1, {5, 4}},
                   {3, 2, {6, 3, 5}},
                   {4, 3, {7, 6, 0, 1}}};
    Check({"Greater", "Equal", "LogicalNot", "LogicalAnd", "SelectV2"}, sweep,
          {x, z, {-0.5f}, Floats(count)});
  }
}

INSTANTIATE_TEST_SUITE_P(OneKernelACall, FusedElementwiseTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(CompiledSource, FusedElementwiseTest, ::testing::Values(true));

TEST(SweepKernelTest, ShapesOfOneLayoutShareAKernel) {
  const auto key = [](int64_t columns, int64_t rows, int64_t stride) {
    ElementwiseSweep sweep;
    sweep.columns = columns;
    sweep.rows = rows;
    sweep.operands = {InMemory(0, 4, stride), InMemory(1, 4, stride)};
    sweep.calls = {{0, 1, {1, 0}}};
    alignas(16) static char memory[64];
    char* const bases[] = {memory, memory};
    return cuda::SweepKernel(sweep, bases).key();
  };
  EXPECT_EQ(key(128, 1, 0), key(4096, 1, 0));
  EXPECT_NE(key(128, 1, 0), key(129, 1, 0));  // not in groups of four
  EXPECT_EQ(key(128, 3, 600), key(64, 9, 300));
  EXPECT_NE(key(128, 3, 600), key(128, 3, 0));
}

}  // namespace
}  // namespace tessera
