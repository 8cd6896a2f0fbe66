#include "runtime/training/job/nan_locator.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/session/session.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// What is said of a field of float64 with these two rows.
std::string LocatedIn(double first, double second) {
  TrainingProgram program;
  program.session = *Session::Create({});
  NanLocator locator(&program, {{.name = "x", .dtype = DType::kDouble, .shape = PartialShape()}});
  EXPECT_TRUE(locator.BeforeStep(1).ok());
  const absl::StatusOr<std::string> located =
      locator.Locate({Tensor::Vector<double>({first, second})});
  EXPECT_TRUE(located.ok()) << located.status();
  return located.value_or("");
}

TEST(NanLocatorTest, NumbersOfDoubleThatNoFloatHoldsAreFinite) {
  EXPECT_THAT(LocatedIn(1e300, -1e300), HasSubstr("batch and variables were finite"));
  EXPECT_THAT(LocatedIn(1e300, std::numeric_limits<double>::infinity()),
              HasSubstr("the field 'x' of the batch is not finite in row 1"));
}

}  // namespace
}  // namespace tessera
