// What recorded updates leave out: sharing, errors, and the edges of shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

#include "Eigen/Core"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;

// A variable and its handle.
struct Var {
  explicit Var(Tensor value)
      : variable(MakeRefCounted<Variable>(value.dtype(), PartialShape(value.shape()))) {
    variable->Assign(std::move(value));
  }
  Tensor handle() const {
    ResourceHandle handle;
    handle.type_name = std::string(Variable::kTypeName);
    handle.resource = variable;
    return Tensor::Scalar(std::move(handle));
  }
  absl::Span<const float> values() const {
    read = variable->Read();
    return read.flat<float>();
  }

  IntrusivePtr<Variable> variable;
  mutable Tensor read;
};

absl::Status Apply(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  absl::StatusOr<KernelRunner> runner = KernelRunner::Create(op, inputs, std::move(attrs));
  if (!runner.ok()) return runner.status();
  return runner->Run(std::move(inputs)).status();
}

Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

TEST(OptimizerTest, UpdatesInPlaceOnlyWhatNobodyElseHolds) {
  Var var(Floats({1, 2}));
  const Tensor before = var.variable->Read();
  ASSERT_TRUE(
      Apply("ResourceApplyGradientDescent", {var.handle(), Tensor::Scalar(0.5f), Floats({2, 4})})
          .ok());
  EXPECT_THAT(before.flat<float>(), ElementsAre(1, 2)) << "what was read before stays";
  EXPECT_THAT(var.values(), ElementsAre(0, 0));

  const char* const place = var.read.raw();
  var.read = Tensor();
  ASSERT_TRUE(
      Apply("ResourceApplyGradientDescent", {var.handle(), Tensor::Scalar(1.0f), Floats({1, 1})})
          .ok());
  EXPECT_EQ(var.variable->Read().raw(), place);
}

// Returns -1 / (sqrt(x) + epsilon) for each x, the step of an optimizer from 0.
std::vector<float> StepsOver(const std::vector<float>& squares, float epsilon) {
  const auto count = static_cast<int64_t>(squares.size());
  Tensor accum = Tensor::Zeros(DType::kFloat, {count}).value(), ones = accum.DeepCopy().value();
  std::copy(squares.begin(), squares.end(), accum.data<float>());
  std::fill_n(ones.data<float>(), count, 1.0f);
  Var var(Tensor::Zeros(DType::kFloat, {count}).value()), slot(accum);
  EXPECT_TRUE(
      Apply("ResourceApplyAdagradV2",
            {var.handle(), slot.handle(), Tensor::Scalar(1.0f), Tensor::Scalar(epsilon), ones},
            {{"update_slots", false}})
          .ok());
  const absl::Span<const float> steps = var.values();
  return {steps.begin(), steps.end()};
}

TEST(OptimizerTest, RootsOfAllNumbersAreAccurateWhereverTheyLie) {
  using Limits = std::numeric_limits<float>;
  const float kinds[] = {0.0f,
                         Limits::denorm_min(),
                         Limits::min() / 3,
                         Limits::min(),
                         1e-20f,
                         0.3f,
                         2.0f,
                         3.5f,
                         1e10f,
                         1e30f,
                         Limits::max(),
                         Limits::infinity(),
                         -1.0f,
                         Limits::quiet_NaN()};
  // Vectors of one kind, vectors of several, and a last vector that is not full.
  std::vector<float> squares;
  for (const float x : kinds) squares.insert(squares.end(), 16, x);
  for (int i = 0; i < 5; ++i) squares.insert(squares.end(), std::begin(kinds), std::end(kinds));
  for (const float epsilon : {0.0f, 1e-7f}) {
    const std::vector<float> steps = StepsOver(squares, epsilon);
    for (size_t i = 0; i < squares.size(); ++i) {
      const double expected = -1 / (std::sqrt(double{squares[i]}) + double{epsilon});
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(steps[i])) << squares[i];
      } else if (std::isinf(expected)) {
        EXPECT_EQ(steps[i], expected) << squares[i];
      } else {
        EXPECT_NEAR(steps[i], expected, 3e-7 * std::abs(expected)) << squares[i];
      }
      const float alone = StepsOver({squares[i]}, epsilon)[0];
      EXPECT_TRUE(alone == steps[i] || std::isnan(alone)) << squares[i] << " at " << i;
    }
  }
}

TEST(OptimizerTest, SparseUpdateTouchesItsRowsInOrder) {
  Var var(Tensor::Of<float>({3, 2}, {1, 1, 2, 2, 3, 3}));
  Var accum(Tensor::Of<float>({3, 2}, {0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(
      Apply("ResourceSparseApplyMomentum", {var.handle(), accum.handle(), Tensor::Scalar(1.0f),
                                            Tensor::Of<float>({2, 2}, {1, 2, 1, 2}),
                                            Tensor::Vector<int32_t>({2, 2}), Tensor::Scalar(0.5f)})
          .ok());
  EXPECT_THAT(accum.values(), ElementsAre(0, 0, 0, 0, 1.5, 3));
  EXPECT_THAT(var.values(), ElementsAre(1, 1, 2, 2, 0.5, -2));
}

TEST(OptimizerTest, IndexOutOfRangeChangesNothing) {
  Var var(Floats({1, 2})), accum(Floats({1, 1}));
  const absl::Status status =
      Apply("ResourceSparseApplyAdagrad", {var.handle(), accum.handle(), Tensor::Scalar(1.0f),
                                           Floats({1, 1}), Tensor::Vector<int64_t>({0, 2})});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("2"));
  EXPECT_THAT(var.values(), ElementsAre(1, 2));
  EXPECT_THAT(accum.values(), ElementsAre(1, 1));
}

TEST(OptimizerTest, RefusesWhatDoesNotFit) {
  Var var(Floats({1, 2})), three(Floats({1, 2, 3}));
  auto code = [](const absl::Status& status) { return status.code(); };
  EXPECT_EQ(code(Apply("ResourceApplyMomentum", {var.handle(), three.handle(), Tensor::Scalar(1.0f),
                                                 Floats({1, 1}), Tensor::Scalar(1.0f)})),
            absl::StatusCode::kInvalidArgument)
      << "a slot of another shape";
  EXPECT_EQ(code(Apply("ResourceApplyGradientDescent",
                       {var.handle(), Tensor::Scalar(1.0f), Floats({1})})),
            absl::StatusCode::kInvalidArgument)
      << "a gradient of another shape";
  EXPECT_EQ(
      code(Apply("ResourceApplyGradientDescent", {var.handle(), Floats({1}), Floats({1, 1})})),
      absl::StatusCode::kInvalidArgument)
      << "a learning rate that is no scalar";
  EXPECT_EQ(code(Apply("ResourceApplyMomentum", {var.handle(), var.handle(), Tensor::Scalar(1.0f),
                                                 Floats({1, 1}), Tensor::Scalar(1.0f)})),
            absl::StatusCode::kInvalidArgument)
      << "one variable as variable and slot";
  var.variable->Assign(Tensor());
  EXPECT_EQ(code(Apply("ResourceApplyGradientDescent",
                       {var.handle(), Tensor::Scalar(1.0f), Floats({1, 1})})),
            absl::StatusCode::kFailedPrecondition)
      << "a variable without a value";
}

TEST(OptimizerTest, EmptyVariablesAndScalarsAreUpdated) {
  Var empty(Tensor::Of<float>({0, 3}, {}));
  EXPECT_TRUE(Apply("ResourceApplyGradientDescent",
                    {empty.handle(), Tensor::Scalar(1.0f), Tensor::Of<float>({0, 3}, {})})
                  .ok());
  Var scalar(Tensor::Scalar(3.0f));
  ASSERT_TRUE(Apply("ResourceApplyGradientDescent",
                    {scalar.handle(), Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)})
                  .ok());
  EXPECT_THAT(scalar.values(), ElementsAre(2));
  Var rows(Floats({1, 2}));
  EXPECT_TRUE(Apply("ResourceSparseApplyProximalGradientDescent",
                    {rows.handle(), Tensor::Scalar(1.0f), Tensor::Scalar(0.0f),
                     Tensor::Scalar(0.0f), Floats({}), Tensor::Vector<int32_t>({})})
                  .ok());
  EXPECT_THAT(rows.values(), ElementsAre(1, 2));
}

TEST(OptimizerTest, NanStaysInItsElement) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Var var(Floats({1, 1, 1})), accum(Floats({1, 1, 1}));
  ASSERT_TRUE(Apply("ResourceApplyProximalAdagrad",
                    {var.handle(), accum.handle(), Tensor::Scalar(1.0f), Tensor::Scalar(0.5f),
                     Tensor::Scalar(0.0f), Floats({0, nan, 0})})
                  .ok());
  EXPECT_FLOAT_EQ(var.values()[0], 0.5f);
  EXPECT_TRUE(std::isnan(var.values()[1]));
  EXPECT_FLOAT_EQ(var.values()[2], 0.5f);
}

// A loop of blocks of float gives what one pass would.
TEST(OptimizerTest, NarrowFloatsAreComputedAsFloat) {
  constexpr int kCount = 1500;
  Tensor value = *Tensor::Zeros(DType::kBfloat16, {kCount});
  Tensor gradient = *Tensor::Zeros(DType::kBfloat16, {kCount});
  for (int i = 0; i < kCount; ++i) {
    gradient.flat<Eigen::bfloat16>()[i] = Eigen::bfloat16(static_cast<float>(i % 7));
  }
  Var var(std::move(value));
  ASSERT_TRUE(Apply("ResourceApplyGradientDescent",
                    {var.handle(), Tensor::Scalar(Eigen::bfloat16(0.5f)), gradient})
                  .ok());
  const Tensor got = var.variable->Read();
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(static_cast<float>(got.flat<Eigen::bfloat16>()[i]), -0.5f * (i % 7)) << i;
  }
}

// Runs an optimizer of one slot on halves, and compares with a formula that rounds each step.
template <typename Formula>
void ExpectHalfUpdate(absl::string_view op, float extra, Formula formula) {
  using Half = Eigen::half;
  constexpr int kCount = 700;
  Tensor value = *Tensor::Zeros(DType::kHalf, {kCount}),
         slot = *Tensor::Zeros(DType::kHalf, {kCount});
  Tensor gradient = *Tensor::Zeros(DType::kHalf, {kCount});
  for (int i = 0; i < kCount; ++i) {
    value.flat<Half>()[i] = Half(std::sin(1.3f * i));
    slot.flat<Half>()[i] = Half(1.1f + std::cos(0.7f * i));
    gradient.flat<Half>()[i] = Half(std::sin(0.9f * i + 1));
  }
  Var var(value), accum(slot);
  std::vector<Tensor> inputs{var.handle(), accum.handle(), Tensor::Scalar(Half(0.1f)), gradient};
  if (extra != 0) inputs.push_back(Tensor::Scalar(Half(extra)));
  ASSERT_TRUE(Apply(op, inputs).ok());
  const Tensor got = var.variable->Read();
  for (int i = 0; i < kCount; ++i) {
    Half x = value.flat<Half>()[i], a = slot.flat<Half>()[i];
    formula(gradient.flat<Half>()[i], x, a);
    ASSERT_EQ(static_cast<float>(got.flat<Half>()[i]), static_cast<float>(x)) << op << " at " << i;
  }
}

TEST(OptimizerTest, EachStepOfARuleIsRoundedToHalf) {
  using Half = Eigen::half;
  const Half lr(0.1f), momentum(0.9f);
  ExpectHalfUpdate("ResourceApplyMomentum", 0.9f, [=](Half g, Half& x, Half& a) {
    a = a * momentum + g;
    x = x - a * lr;
  });
  ExpectHalfUpdate("ResourceApplyKerasMomentum", 0.9f, [=](Half g, Half& x, Half& a) {
    a = a * momentum - g * lr;
    x = x + a;
  });
  // TensorFlow multiplies by the reciprocal root.
  ExpectHalfUpdate("ResourceApplyAdagrad", 0, [=](Half g, Half& x, Half& a) {
    a = a + g * g;
    x = x - g * lr * Half(1 / std::sqrt(static_cast<float>(a)));
  });
}

// The formula of TensorFlow's kernel, in the arithmetic of Eigen's half.
TEST(OptimizerTest, FtrlRoundsEachStepOfHalf) {
  using Half = Eigen::half;
  constexpr int kCount = 1000;
  const auto numbers = [](float scale, float shift) {
    Tensor tensor = *Tensor::Zeros(DType::kHalf, {kCount});
    for (int i = 0; i < kCount; ++i) {
      tensor.flat<Half>()[i] = Half(shift + std::sin(scale * static_cast<float>(i)));
    }
    return tensor;
  };
  const Tensor value = numbers(1.3f, 0), accum = numbers(0.7f, 1.1f), linear = numbers(0.4f, 0),
               gradient = numbers(0.9f, 0);
  const Half lr(0.1f), l1(0.05f), l2(0.02f), power(-0.5f);
  Var var(value), accum_var(accum), linear_var(linear);
  ASSERT_TRUE(Apply("ResourceApplyFtrl", {var.handle(), accum_var.handle(), linear_var.handle(),
                                          gradient, Tensor::Scalar(lr), Tensor::Scalar(l1),
                                          Tensor::Scalar(l2), Tensor::Scalar(power)})
                  .ok());
  const Tensor got = var.variable->Read(), got_linear = linear_var.variable->Read();
  for (int i = 0; i < kCount; ++i) {
    const Half g = gradient.flat<Half>()[i], x = value.flat<Half>()[i];
    const Half old = accum.flat<Half>()[i], sum = old + g * g;
    const Half root = Eigen::numext::sqrt(sum);
    const Half z = linear.flat<Half>()[i] + (g - (root - Eigen::numext::sqrt(old)) / lr * x);
    const Half towards_zero = z > Half(0.0f) ? l1 - z : -l1 - z;
    const Half want =
        Eigen::numext::abs(z) > l1 ? towards_zero / (root / lr + Half(2.0f) * l2) : Half(0.0f);
    ASSERT_EQ(static_cast<float>(got_linear.flat<Half>()[i]), static_cast<float>(z)) << i;
    ASSERT_EQ(static_cast<float>(got.flat<Half>()[i]), static_cast<float>(want)) << i;
  }
}

// Returns the variable after a step of FTRL with weight `l1` on elements that were 1 each.
std::vector<float> AfterFtrl(bool is_sparse, const std::vector<float>& accum,
                             const std::vector<float>& linear, float l1) {
  const auto count = static_cast<int32_t>(accum.size());
  const auto tensor = [&](const std::vector<float>& values) {
    return Tensor::Vector<float>(values);
  };
  Var var(tensor(std::vector<float>(count, 1))), accum_var(tensor(accum)),
      linear_var(tensor(linear));
  std::vector<Tensor> inputs{var.handle(), accum_var.handle(), linear_var.handle(),
                             *Tensor::Zeros(DType::kFloat, {count})};
  if (is_sparse) {
    std::vector<int32_t> indices(count);
    std::iota(indices.begin(), indices.end(), 0);
    inputs.push_back(Tensor::Vector<int32_t>(indices));
  }
  for (const float scalar : {1.0f, l1, 0.0f, -0.5f}) inputs.push_back(Tensor::Scalar(scalar));
  EXPECT_TRUE(Apply(is_sparse ? "ResourceSparseApplyFtrl" : "ResourceApplyFtrl", inputs).ok());
  const absl::Span<const float> values = var.values();
  return {values.begin(), values.end()};
}

// All at once, so that vectors of several lengths are computed.
TEST(OptimizerTest, FtrlMakesNanOfNegativeAccumulatorsInRowsAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> accum{-3, 4, 4, 0, nan}, linear{2, 2, nan, 0.25f, 2};
  for (const int repeats : {1, 7}) {
    std::vector<float> all_accum, all_linear;
    for (int i = 0; i < repeats; ++i) {
      all_accum.insert(all_accum.end(), accum.begin(), accum.end());
      all_linear.insert(all_linear.end(), linear.begin(), linear.end());
    }
    const std::vector<float> dense = AfterFtrl(false, all_accum, all_linear, 0.5f);
    const std::vector<float> rows = AfterFtrl(true, all_accum, all_linear, 0.5f);
    for (size_t i = 0; i < dense.size(); ++i) {
      if (i % accum.size() == 1) {
        EXPECT_EQ(dense[i], -0.75f);
        EXPECT_EQ(rows[i], -0.75f);
      } else {
        EXPECT_EQ(dense[i], 0) << i;
        EXPECT_TRUE(std::isnan(rows[i])) << i;
      }
    }
  }
}

TEST(OptimizerTest, FtrlMovesLinearTermsAwayByNegativeWeights) {
  EXPECT_THAT(AfterFtrl(false, {1, 1, 1}, {1, -1, 0}, -0.5f), ElementsAre(-1.5f, 1.5f, 0));
}

// The expected values are TensorFlow's.
TEST(OptimizerTest, NegativeLearningRatesMoveProximalStepsAwayFromZero) {
  for (const bool is_sparse : {false, true}) {
    Var var(Floats({1, -2, 0.05f, -0.05f, 0}));
    std::vector<Tensor> inputs = {var.handle(), Tensor::Scalar(-0.1f), Tensor::Scalar(0.2f),
                                  Tensor::Scalar(0.0f), Floats({0.5f, -0.3f, 0.2f, 0.1f, 0})};
    if (is_sparse) inputs.push_back(Tensor::Vector<int32_t>({0, 1, 2, 3, 4}));
    ASSERT_TRUE(Apply(is_sparse ? "ResourceSparseApplyProximalGradientDescent"
                                : "ResourceApplyProximalGradientDescent",
                      inputs)
                    .ok());
    EXPECT_THAT(var.values(),
                ElementsAre(FloatEq(1.07f), FloatEq(-2.05f), FloatEq(0.09f), FloatEq(-0.06f), 0));
  }
}

// Returns a variable of zeros in `shape` after one step of AdagradDA.
std::vector<float> AfterAdagradDa(bool is_sparse, const Shape& shape, int64_t global_step) {
  Var var(Tensor::Zeros(DType::kFloat, shape).value()),
      sum(Tensor::Of<float>(shape, {0.1f, -0.2f})), squares(Tensor::Of<float>(shape, {0.1f, 0.2f}));
  const Tensor gradient = Tensor::Of<float>(shape, {0.5f, -0.3f});
  std::vector<Tensor> inputs = {var.handle(),         sum.handle(),
                                squares.handle(),     gradient,
                                Tensor::Scalar(0.1f), Tensor::Scalar(0.2f),
                                Tensor::Scalar(0.3f), Tensor::Scalar(global_step)};
  if (is_sparse) {
    inputs.insert(inputs.begin() + 4, shape.dim(0) == 1 ? Tensor::Vector<int32_t>({0})
                                                        : Tensor::Vector<int32_t>({0, 1}));
  }
  EXPECT_TRUE(
      Apply(is_sparse ? "ResourceSparseApplyAdagradDA" : "ResourceApplyAdagradDA", inputs).ok());
  return {var.values().begin(), var.values().end()};
}

// The expected values are TensorFlow's, whose rows of several elements go another way than the
// rest.
TEST(OptimizerTest, NegativeStepsOfDualAveragingStopRowsAlone) {
  const auto away_from_zero =
      ElementsAre(FloatNear(-0.239231f, 1e-5f), FloatNear(0.245253f, 1e-5f));
  EXPECT_THAT(AfterAdagradDa(false, {2}, -3), away_from_zero);
  EXPECT_THAT(AfterAdagradDa(false, {1, 2}, -3), away_from_zero);
  EXPECT_THAT(AfterAdagradDa(true, {2}, -3), away_from_zero);
  EXPECT_THAT(AfterAdagradDa(true, {1, 2}, -3), ElementsAre(0, 0));
  const std::vector<float> rows = AfterAdagradDa(true, {1, 2}, 0);
  EXPECT_TRUE(std::isnan(rows[0]) && std::isnan(rows[1]));
  EXPECT_THAT(AfterAdagradDa(true, {2}, 0),
              ElementsAre(FloatNear(-0.101419f, 1e-5f), FloatNear(0.092848f, 1e-5f)));
}

TEST(OptimizerTest, ManyThreadsUpdateEachElementOnce) {
  constexpr int64_t kCount = 200001;
  Var var(*Tensor::Zeros(DType::kFloat, {kCount}));
  Tensor gradient = *Tensor::Zeros(DType::kFloat, {kCount});
  for (float& x : gradient.flat<float>()) x = 1;
  std::vector<Tensor> inputs{var.handle(), Tensor::Scalar(2.0f), gradient};
  KernelRunner runner = *KernelRunner::Create("ResourceApplyGradientDescent", inputs);
  ThreadPool pool({.name = "test", .num_threads = 4});
  ASSERT_TRUE(runner.Run(inputs, &pool).ok());
  for (const float x : var.values()) ASSERT_EQ(x, -2);
}

}  // namespace
}  // namespace tessera
