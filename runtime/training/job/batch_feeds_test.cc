#include "runtime/training/job/batch_feeds.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns what is wrong with a field of one dtype that feeds an input of another.
std::string Mismatch(DType field, DType input) {
  return MatchFields({{.field = "y", .tensor = "y:0", .dtype = input, .shape = PartialShape()}},
                     {{.name = "y", .dtype = field, .shape = PartialShape()}})
      .status()
      .ToString();
}

TEST(BatchFeedsTest, ADtypeThatDoesNotFitIsToldWithARemedyThatWorks) {
  EXPECT_EQ(Mismatch(DType::kInt64, DType::kInt64), "OK");
  EXPECT_THAT(Mismatch(DType::kFloat, DType::kInt64), HasSubstr("`cast: int64` in the field"));
  for (const auto& [field, input] :
       {std::pair(DType::kString, DType::kInt64), std::pair(DType::kFloat, DType::kString)}) {
    const std::string error = Mismatch(field, input);
    EXPECT_THAT(error, HasSubstr("cannot be cast to each other; `dtype: "));
    EXPECT_THAT(error, Not(HasSubstr("`cast: ")));
  }
}

}  // namespace
}  // namespace tessera
