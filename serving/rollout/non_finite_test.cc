#include "serving/rollout/non_finite.h"

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

Finiteness CheckOne(const Tensor& tensor) { return CheckFiniteness({{{"y", tensor}}}); }

template <typename T>
class NonFiniteTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Eigen::half, Eigen::bfloat16>;
TYPED_TEST_SUITE(NonFiniteTest, FloatTypes);

TYPED_TEST(NonFiniteTest, FindsOneAtEveryPosition) {
  using Limits = std::numeric_limits<TypeParam>;
  // The greatest and smallest numbers, subnormal ones and both zeros are finite.
  const std::vector<TypeParam> finite = {Limits::max(),        Limits::lowest(), Limits::min(),
                                         Limits::denorm_min(), TypeParam(0),     TypeParam(-0.0)};
  const std::vector<TypeParam> others = {Limits::infinity(), -Limits::infinity(),
                                         Limits::quiet_NaN(), Limits::signaling_NaN()};
  for (const size_t size : {1, 2, 31, 64, 65, 200}) {
    std::vector<TypeParam> values;
    for (size_t i = 0; i < size; ++i) values.push_back(finite[i % finite.size()]);
    EXPECT_EQ(CheckOne(Tensor::Vector<TypeParam>(values)), Finiteness::kFinite) << size;
    for (size_t i = 0; i < size; ++i) {
      std::vector<TypeParam> broken = values;
      broken[i] = others[i % others.size()];
      EXPECT_EQ(CheckOne(Tensor::Vector<TypeParam>(broken)), Finiteness::kNonFinite)
          << i << " of " << size;
    }
  }
}

TEST(CheckFinitenessTest, PartsOfComplexNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(CheckOne(Tensor::Scalar(std::complex<float>(1, 2))), Finiteness::kFinite);
  EXPECT_EQ(CheckOne(Tensor::Scalar(std::complex<float>(1, infinity))), Finiteness::kNonFinite);
  EXPECT_EQ(CheckOne(Tensor::Scalar(std::complex<double>(-infinity, 0))), Finiteness::kNonFinite);
}

TEST(CheckFinitenessTest, AnswersWithoutFloatingPointNumbersAreNotChecked) {
  EXPECT_EQ(CheckFiniteness({}), Finiteness::kNotChecked);
  EXPECT_EQ(CheckOne(Tensor::Vector<int64_t>({int64_t{-1}})), Finiteness::kNotChecked);
  EXPECT_EQ(CheckOne(Tensor::Scalar("nan")), Finiteness::kNotChecked);
  EXPECT_EQ(CheckOne(Tensor()), Finiteness::kNotChecked);
  EXPECT_EQ(CheckOne(Tensor::Vector<float>({})), Finiteness::kNotChecked);
}

TEST(CheckFinitenessTest, LooksAtTheFirstElementsOfAHugeAnswer) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(kMaxCheckedElements + 2);
  values[kMaxCheckedElements] = nan;
  const Tensor late = Tensor::Vector<float>(values);
  EXPECT_EQ(CheckOne(late), Finiteness::kFinite);
  values[kMaxCheckedElements - 1] = nan;
  EXPECT_EQ(CheckOne(Tensor::Vector<float>(values)), Finiteness::kNonFinite);
  // The bound is one of the whole answer; strings do not count.
  EXPECT_EQ(CheckFiniteness({{{"a", Tensor::Scalar("x")}, {"b", Tensor::Scalar(nan)}}}),
            Finiteness::kNonFinite);
  EXPECT_EQ(CheckFiniteness({{{"a", late}, {"b", Tensor::Scalar(nan)}}}), Finiteness::kFinite);
}

}  // namespace
}  // namespace tessera::serving
