// AddGradients() on the graphs whose gradients TensorFlow recorded: see gradient_recording.py.
#include "absl/strings/ascii.h"
#include "gtest/gtest.h"
#include "tests/conformance/gradient_case.h"

namespace tessera {
namespace {

std::vector<GradientCase> AllCases() {
  return FindGradientCases("tests/data/golden/made/gradients").value();
}

class GradientCasesTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientCasesTest, AreAsTensorFlowComputesThem) {
  EXPECT_EQ(CheckGradients(GetParam()), "") << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(All, GradientCasesTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : info.param.name) {
                             if (c == ' ') break;  // the ops follow
                             name += absl::ascii_isalnum(c) ? c : '_';
                           }
                           return name;
                         });

TEST(GradientCases, AreThere) { EXPECT_GE(AllCases().size(), 400); }

}  // namespace
}  // namespace tessera
