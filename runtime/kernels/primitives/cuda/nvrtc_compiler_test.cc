// NVRTC compiles what the emulation runs: it needs no GPU.
#include "runtime/kernels/primitives/cuda/nvrtc_compiler.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/kernels/primitives/cuda/sweep_source.h"

namespace tessera::cuda {
namespace {

class NvrtcCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = LoadNvrtc().status();
    if (!status.ok()) GTEST_SKIP() << status;
  }
};

ElementwiseSweep::Operand InMemory(int base, int64_t column_stride, int64_t row_stride) {
  ElementwiseSweep::Operand operand;
  operand.base = base;
  operand.column_stride = column_stride;
  operand.row_stride = row_stride;
  return operand;
}

// y = f(x) for one function of each kind, with and without groups of four.
TEST_F(NvrtcCompilerTest, CompilesSweepsForEachComputeCapability) {
  alignas(16) static char memory[64];
  char* const bases[] = {memory, memory, memory};
  for (const int64_t rows : {1, 3}) {
    ElementwiseSweep sweep;
    sweep.columns = 128;
    sweep.rows = rows;
    sweep.operands = {InMemory(0, 4, 512), InMemory(1, 0, 4), InMemory(2, 4, 512)};
    std::vector<absl::string_view> functors;
    for (const char* const name : {"Erf", "Softplus", "Rsqrt", "Sign", "Tanh", "Elu"}) {
      sweep.calls.push_back({static_cast<int>(functors.size()), 1, {2, 0}});
      functors.push_back(FindSweepFunction(name).functor);
    }
    for (const char* const name : {"Mul", "RsqrtGrad", "DivNoNan", "SquaredDifference"}) {
      sweep.calls.push_back({static_cast<int>(functors.size()), 2, {2, 0, 1}});
      functors.push_back(FindSweepFunction(name).functor);
    }
    // Comparisons and choices, whose bools stay in registers.
    ElementwiseSweep::Operand is_less;
    is_less.base = -1;
    sweep.operands.push_back(is_less);
    for (const char* const name : {"Less", "LogicalNot", "SelectV2"}) {
      const int function = static_cast<int>(functors.size());
      functors.push_back(FindSweepFunction(name).functor);
      if (absl::string_view(name) == "Less") sweep.calls.push_back({function, 2, {3, 0, 1}});
      if (absl::string_view(name) == "LogicalNot") sweep.calls.push_back({function, 1, {3, 3}});
      if (absl::string_view(name) == "SelectV2") sweep.calls.push_back({function, 3, {2, 3, 0, 1}});
    }
    const std::string source = SweepKernel(sweep, bases).Source(functors);
    for (const int compute_capability : {80, 90, 100, 120}) {
      const absl::StatusOr<std::string> code = CompileByNvrtc(source, compute_capability);
      ASSERT_TRUE(code.ok()) << code.status() << source;
      EXPECT_TRUE(absl::StrContains(*code, SweepKernel::kFunctionName));
    }
  }
}

TEST_F(NvrtcCompilerTest, MessagesOfTheCompilerAreInTheError) {
  const absl::Status status = CompileByNvrtc("void F() { undeclared(); }", 90).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "undeclared")) << status;
}

TEST_F(NvrtcCompilerTest, MachineCodeDependsOnTheComputeCapability) {
  EXPECT_NE(DescribeNvrtc(80).value(), DescribeNvrtc(90).value());
}

}  // namespace
}  // namespace tessera::cuda
