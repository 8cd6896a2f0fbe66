// Errors and results are TensorFlow's.
#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(StringJoinTest, AScalarHasNoAxisToJoinAlong) {
  const Tensor scalar = Tensor::Scalar("ab");
  const auto axes = [](std::initializer_list<int32_t> named) {
    return Tensor::Vector<int32_t>(named);
  };
  for (const int32_t axis : {-1, 0, 1}) {
    EXPECT_EQ(RunOp("ReduceJoin", {scalar, axes({axis})}).status().code(),
              absl::StatusCode::kOutOfRange)
        << axis;
  }
  for (const bool keep_dims : {false, true}) {
    const auto joined = RunOp("ReduceJoin", {scalar, axes({})}, {{"keep_dims", keep_dims}});
    ASSERT_TRUE(joined.ok()) << joined.status();
    EXPECT_EQ(joined->shape(), Shape({}));
    EXPECT_EQ(joined->scalar<std::string>(), "ab");
  }
}

}  // namespace
}  // namespace tessera
