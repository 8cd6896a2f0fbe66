// Weights alone, on graphs that are live: they need no compilation, and answer as if they had it.
#include "tests/conformance/reused_plans.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace tessera {
namespace {

class ReusedPlansTest : public ::testing::TestWithParam<Recording> {};

std::vector<Recording> Models() {
  // For other models: --test_env=TESSERA_MODELS=/folder.
  const char* const folder = std::getenv("TESSERA_MODELS");
  auto found = FindRecordings(folder == nullptr ? "tests/data/models" : folder, {});
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *found : std::vector<Recording>();
}

TEST_P(ReusedPlansTest, AnswerAsThePlanOfTheirOwn) {
  SessionOptions options;
  options.freeze_variables = true;
  const absl::StatusOr<bool> is_reused = CompareReusedPlans(GetParam(), options);
  if (absl::IsUnimplemented(is_reused.status())) GTEST_SKIP() << is_reused.status();
  ASSERT_TRUE(is_reused.ok()) << is_reused.status();
  EXPECT_TRUE(*is_reused) << "something was compiled for the other weights";
}

INSTANTIATE_TEST_SUITE_P(, ReusedPlansTest, ::testing::ValuesIn(Models()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& letter : name) {
    if (letter == '/') letter = '_';
  }
  return name;
});

}  // namespace
}  // namespace tessera
