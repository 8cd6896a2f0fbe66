#include <gtest/gtest.h>

#include <vector>

#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

absl::StatusCode CodeOfBarrier(const PartialShape& shape) {
  return KernelRunner::Create("Barrier", {},
                              {{"component_types", std::vector<DType>{DType::kFloat}},
                               {"shapes", std::vector<PartialShape>{shape}}})
      .status()
      .code();
}

// TensorFlow takes an unknown rank for that of a scalar.
TEST(BarrierTest, ComponentsMayHaveAnUnknownRank) {
  EXPECT_EQ(CodeOfBarrier(PartialShape()), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOfBarrier(PartialShape({2, 3})), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOfBarrier(PartialShape({2, -1})), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
