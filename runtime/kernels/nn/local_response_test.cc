#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Returns 2 normalised by itself alone.
float Normalised(float bias, float alpha, float beta) {
  const Tensor x = Tensor::Of<float>(Shape{1, 1, 1, 1}, {2});
  const AttrMap attrs = {
      {"depth_radius", int64_t{0}}, {"bias", bias}, {"alpha", alpha}, {"beta", beta}};
  return RunOp("LRN", {x}, attrs).value().data<float>()[0];
}

TEST(LocalResponseTest, PowersAreThoseOfTensorFlow) {
  EXPECT_NEAR(Normalised(1, 2, 2), 2.0 / 81, 1e-7);
  EXPECT_NEAR(Normalised(1, 2, 0), 2, 1e-7);
  EXPECT_EQ(Normalised(0, 0, -1), 0);
  EXPECT_EQ(Normalised(0, 0, 0.3f), std::numeric_limits<float>::infinity());
}

// They are powers by way of logarithms.
TEST(LocalResponseTest, PowersOfNegativeNumbersAreNaN) {
  for (const float beta : {-1.0f, 0.0f, 0.3f, 0.5f, 0.75f, 2.0f}) {
    EXPECT_TRUE(std::isnan(Normalised(-1, 0, beta))) << beta;
  }
  EXPECT_EQ(Normalised(-1, 0, 1), -2);
  EXPECT_TRUE(std::isnan(Normalised(0, 0, 0)));
}

}  // namespace
}  // namespace tessera
