// Tests of RandomFill and Multinomial that the recorded calls of ops do not cover.
#include "runtime/kernels/primitives/random_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/multinomial.h"
#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {
namespace {

using ::testing::Each;

class RandomFillTest : public ::testing::Test {
 protected:
  Tensor Fill(Distribution distribution, DType dtype, int64_t count, IntegerRange integers = {}) {
    Tensor out = Tensor::Allocate(dtype, {count}).value();
    EXPECT_TRUE(PrimitiveImplementations<RandomFill>::Find(kCpu)(ctx_, distribution, Philox(3, 5),
                                                                 integers, &out)
                    .ok());
    return out;
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
};

TEST_F(RandomFillTest, ANumberDoesNotDependOnHowManyFollow) {
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
    const Tensor all = Fill(distribution, DType::kDouble, 9);
    for (int64_t count = 0; count < 9; ++count) {
      const Tensor some = Fill(distribution, DType::kDouble, count);
      EXPECT_EQ(some.flat<double>(), all.flat<double>().first(count));
    }
  }
}

// Floats are made of several blocks at once.
TEST_F(RandomFillTest, FloatsAreThoseOfTheGeneratorsBlocks) {
  for (const int64_t count : {1, 63, 64, 150}) {
    const Tensor uniform = Fill(Distribution::kUniform, DType::kFloat, count);
    const Tensor normal = Fill(Distribution::kNormal, DType::kFloat, count);
    Philox generator(3, 5);
    for (int64_t first = 0; first < count; first += 4) {
      const Philox::Block block = generator.Next();
      float numbers[4], normals[4];
      UniformReal<float>()(block, numbers);
      Normal<float>()(block, normals);
      for (int64_t i = first; i < std::min(first + 4, count); ++i) {
        EXPECT_EQ(uniform.flat<float>()[i], numbers[i - first]);
        EXPECT_EQ(normal.flat<float>()[i], normals[i - first]);
      }
    }
  }
}

TEST_F(RandomFillTest, IntegersAreTheBitsOfTheGenerator) {
  Philox generator(3, 5);
  const Philox::Block block = generator.Next();
  const Tensor narrow = Fill(Distribution::kFullInt, DType::kUint32, 3);
  const Tensor wide = Fill(Distribution::kFullInt, DType::kInt64, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(narrow.flat<uint32_t>()[i], block[i]);
  EXPECT_EQ(wide.flat<int64_t>()[0], static_cast<int64_t>(block[0] | uint64_t{block[1]} << 32));
}

TEST_F(RandomFillTest, ARangeMayCrossZeroOrSpanAllIntegers) {
  const Tensor crossing = Fill(Distribution::kUniformInt, DType::kInt32, 1000,
                               {.low = static_cast<uint64_t>(int64_t{-2}), .range = 3});
  const absl::Span<const int32_t> values = crossing.flat<int32_t>();
  EXPECT_EQ(std::set<int32_t>(values.begin(), values.end()), (std::set<int32_t>{-2, -1, 0}));
  // The range [-2^63, 2^63 - 1) leaves out one number.
  const auto low = static_cast<uint64_t>(std::numeric_limits<int64_t>::min());
  const Tensor wide =
      Fill(Distribution::kUniformInt, DType::kInt64, 1000, {.low = low, .range = ~uint64_t{0}});
  int64_t negative = 0;
  for (const int64_t v : wide.flat<int64_t>()) negative += v < 0;
  EXPECT_NEAR(static_cast<double>(negative), 500, 100);
}

TEST_F(RandomFillTest, UniformNumbersStayBelowOne) {
  const Tensor x = Fill(Distribution::kUniform, DType::kHalf, 20000);
  for (const Eigen::half v : x.flat<Eigen::half>()) ASSERT_LT(static_cast<float>(v), 1);
}

TEST_F(RandomFillTest, OtherDtypesAreRefused) {
  Tensor out = Tensor::Allocate(DType::kInt8, {1}).value();
  const auto fill = PrimitiveImplementations<RandomFill>::Find(kCpu);
  for (const Distribution distribution : {Distribution::kUniform, Distribution::kFullInt}) {
    EXPECT_EQ(fill(ctx_, distribution, Philox(1), {}, &out).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(RandomFillTest, DrawsSkipImpossibleClassesInEveryRow) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor logits = Tensor::Of<double>({2, 3}, {std::nan(""), 5, -kInf, 7, kInf, -kInf});
  Tensor samples = Tensor::Allocate(DType::kInt32, {2, 50}).value();
  const auto multinomial = PrimitiveImplementations<Multinomial>::Find(kCpu);
  ASSERT_TRUE(multinomial(ctx_, Philox(1), logits, &samples).ok());
  EXPECT_THAT(samples.flat<int32_t>().first(50), Each(1));
  EXPECT_THAT(samples.flat<int32_t>().last(50), Each(0));
}

TEST_F(RandomFillTest, ARowWithoutAPossibleClassGivesTheNumberOfClasses) {
  const Tensor logits = Tensor::Of<float>({1, 2}, {-INFINITY, -INFINITY});
  Tensor samples = Tensor::Allocate(DType::kInt64, {1, 3}).value();
  const auto multinomial = PrimitiveImplementations<Multinomial>::Find(kCpu);
  ASSERT_TRUE(multinomial(ctx_, Philox(1), logits, &samples).ok());
  EXPECT_THAT(samples.flat<int64_t>(), Each(2));
}

}  // namespace
}  // namespace tessera
