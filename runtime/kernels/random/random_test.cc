#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

const Tensor kSeed = Tensor::Vector<int64_t>({1, 2});

Tensor ShapeOf(std::initializer_list<int32_t> dims) { return Tensor::Vector<int32_t>(dims); }

TEST(RandomTest, AStatelessOpRepeatsItself) {
  const AttrMap attrs = {{"dtype", DType::kFloat}};
  const Tensor a = RunOp("StatelessRandomNormal", {ShapeOf({100}), kSeed}, attrs).value();
  const Tensor b = RunOp("StatelessRandomNormal", {ShapeOf({100}), kSeed}, attrs).value();
  EXPECT_TRUE(std::equal(a.flat<float>().begin(), a.flat<float>().end(), b.flat<float>().begin()));
}

TEST(RandomTest, TheNamedAlgorithmMakesTheNumbersOfTheOpsThatChooseItThemselves) {
  const Tensor algorithm = RunOp("StatelessRandomGetAlg", {}).value();
  EXPECT_EQ(algorithm.scalar<int32_t>(), 1) << "Philox in TensorFlow's numbering";
  const std::vector<Tensor> seeded =
      KernelRunner::Create("StatelessRandomGetKeyCounter", {kSeed}).value().Run({kSeed}).value();
  const AttrMap attrs = {{"dtype", DType::kFloat}};
  const Tensor a = RunOp("StatelessRandomUniform", {ShapeOf({9}), kSeed}, attrs).value();
  const Tensor b =
      RunOp("StatelessRandomUniformV2", {ShapeOf({9}), seeded[0], seeded[1], algorithm}, attrs)
          .value();
  EXPECT_TRUE(std::equal(a.flat<float>().begin(), a.flat<float>().end(), b.flat<float>().begin()));
}

TEST(RandomTest, NumbersDependOnTheirPlaceAlone) {
  ThreadPool pool({.num_threads = 3});
  for (const char* op : {"StatelessRandomUniform", "StatelessTruncatedNormal"}) {
    const AttrMap attrs = {{"dtype", DType::kFloat}};
    const Tensor some = RunOp(op, {ShapeOf({7}), kSeed}, attrs).value();
    const Tensor many = RunOp(op, {ShapeOf({50000}), kSeed}, attrs, &pool).value();
    for (int i = 0; i < 7; ++i) EXPECT_EQ(some.flat<float>()[i], many.flat<float>()[i]) << op;
  }
}

Tensor HandleOf(IntrusivePtr<Variable> variable) {
  Tensor handle = Tensor::Scalar(ResourceHandle());
  handle.flat<ResourceHandle>()[0].type_name = std::string(Variable::kTypeName);
  handle.flat<ResourceHandle>()[0].resource = std::move(variable);
  return handle;
}

IntrusivePtr<Variable> Generator(const std::vector<int64_t>& state) {
  auto variable = MakeRefCounted<Variable>(DType::kInt64, PartialShape({3}));
  variable->Assign(Tensor::Vector(absl::Span<const int64_t>(state)));
  return variable;
}

// Returns the counter and the key of a generator that RngSkip has moved on by `delta`.
std::vector<int64_t> Skipped(const std::vector<int64_t>& state, int64_t delta) {
  const auto variable = Generator(state);
  const std::vector<Tensor> inputs = {HandleOf(variable), Tensor::Scalar<int64_t>(1),
                                      Tensor::Scalar(delta)};
  EXPECT_TRUE(KernelRunner::Create("RngSkip", inputs).value().Run(inputs).ok());
  const Tensor value = variable->Read();
  return {value.flat<int64_t>().begin(), value.flat<int64_t>().end()};
}

// The expected states are TensorFlow's, which adds to the counter by words of 32 bits, and forgets
// the carry into an upper word that is full.
TEST(RandomTest, NegativeSkipsMoveTheCounterAsTensorFlowDoes) {
  using State = std::vector<int64_t>;
  EXPECT_EQ(Skipped({1, 2, 3}, -1), (State{-255, 2, 3}));
  EXPECT_EQ(Skipped({-1, -1, 3}, -1), (State{-257, -1, 3}));
  EXPECT_EQ(Skipped({-1, -1, 3}, 1), (State{255, 0, 3}));
  EXPECT_EQ(Skipped({int64_t{1} << 62, 1, 7}, -257), (State{4611686018427322112, 2, 7}));
  EXPECT_EQ(Skipped({5, 0, 3}, std::numeric_limits<int64_t>::min()), (State{5, 0, 3}));
}

TEST(RandomTest, OnlyBinomialsWantTheAlgorithmByItsOwnNumber) {
  for (const int64_t algorithm : {1, 3}) {
    const Tensor handle = HandleOf(Generator({1, 2, 3}));
    const Tensor number = Tensor::Scalar(algorithm);
    EXPECT_TRUE(RunOp("StatefulUniform", {handle, number, ShapeOf({2})}).ok());
    const absl::Status binomial =
        RunOp("StatefulRandomBinomial",
              {handle, number, ShapeOf({2}), Tensor::Scalar(3.f), Tensor::Scalar(.5f)})
            .status();
    EXPECT_EQ(binomial.ok(), algorithm == 1) << binomial;
  }
}

TEST(RandomTest, BoundsThatAreRefusedLeaveTheGeneratorAlone) {
  const auto variable = Generator({1, 2, 3});
  for (const int size : {0, 2}) {
    const absl::Status drawn =
        RunOp("StatefulUniformInt",
              {HandleOf(variable), Tensor::Scalar<int64_t>(1), ShapeOf({size}),
               Tensor::Scalar<int32_t>(5), Tensor::Scalar<int32_t>(5)},
              {{"dtype", DType::kInt32}})
            .status();
    EXPECT_EQ(drawn.code(), absl::StatusCode::kInvalidArgument) << size;
  }
  EXPECT_EQ(variable->Read().flat<int64_t>()[0], 1);
}

// The candidates for the third place leave the same sum of distances; TensorFlow takes the first.
TEST(RandomTest, OfEquallyGoodPointsTheOneThatWasDrawnFirstIsTaken) {
  const Tensor points = Tensor::Of<float>(
      {6, 2}, {0.08399697f, 0.873065f, 0.36501035f, 0.24941587f, 0.5490413f, 0.54775244f,
               0.08199245f, 0.5765631f, 0.47483104f, 0.8526742f, 0.15229294f, 0.2653737f});
  const Tensor y = RunOp("KmeansPlusPlusInitialization",
                         {points, Tensor::Scalar<int64_t>(3), Tensor::Scalar<int64_t>(3),
                          Tensor::Scalar<int64_t>(2)})
                       .value();
  const std::vector<float> want = {0.5490413f, 0.54775244f, 0.08399697f,
                                   0.873065f,  0.36501035f, 0.24941587f};
  EXPECT_EQ(std::vector<float>(y.flat<float>().begin(), y.flat<float>().end()), want);
}

TEST(RandomTest, NormalNumbersHaveTheirMoments) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    const Tensor x =
        RunOp("StatelessRandomNormal", {ShapeOf({100000}), kSeed}, {{"dtype", dtype}}).value();
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const double v = dtype == DType::kFloat    ? x.flat<float>()[i]
                       : dtype == DType::kDouble ? x.flat<double>()[i]
                                                 : static_cast<float>(x.flat<Eigen::half>()[i]);
      sum += v;
      squares += v * v;
    }
    EXPECT_NEAR(sum / 1e5, 0, 0.02);
    EXPECT_NEAR(squares / 1e5, 1, 0.02);
  }
}

TEST(RandomTest, TruncatedNumbersStayWithinTwo) {
  const Tensor x =
      RunOp("StatelessTruncatedNormal", {ShapeOf({10000}), kSeed}, {{"dtype", DType::kDouble}})
          .value();
  for (double v : x.flat<double>()) ASSERT_LT(std::abs(v), 2);
}

TEST(RandomTest, ASeededOpGoesOnFromRunToRun) {
  const Tensor shape = ShapeOf({4});
  const AttrMap attrs = {{"dtype", DType::kFloat}, {"seed", 5}, {"seed2", 6}};
  KernelRunner runner = KernelRunner::Create("RandomUniform", {shape}, attrs).value();
  const Tensor first = runner.Run({shape}).value()[0], second = runner.Run({shape}).value()[0];
  EXPECT_NE(first.flat<float>()[0], second.flat<float>()[0]);
  const Tensor again = RunOp("RandomUniform", {shape}, attrs).value();
  EXPECT_EQ(first.flat<float>()[3], again.flat<float>()[3]);
}

TEST(RandomTest, IntegersCoverTheirRangeOnly) {
  const Tensor x =
      RunOp("StatelessRandomUniformInt",
            {ShapeOf({2000}), kSeed, Tensor::Scalar<int32_t>(-3), Tensor::Scalar<int32_t>(4)})
          .value();
  const std::set<int32_t> seen(x.flat<int32_t>().begin(), x.flat<int32_t>().end());
  EXPECT_EQ(seen, (std::set<int32_t>{-3, -2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(RunOp("StatelessRandomUniformInt",
                  {ShapeOf({2}), kSeed, Tensor::Scalar<int32_t>(4), Tensor::Scalar<int32_t>(4)})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RandomTest, AnEmptyOutputNeedsNoRange) {
  const Tensor none =
      RunOp("StatelessRandomUniformInt",
            {ShapeOf({0}), kSeed, Tensor::Scalar<int32_t>(4), Tensor::Scalar<int32_t>(4)})
          .value();
  EXPECT_EQ(none.num_elements(), 0);
}

TEST(RandomTest, ShufflingKeepsTheRows) {
  const Tensor rows = Tensor::Vector<std::string>({"a", "b", "c", "d", "e"});
  const Tensor x = RunOp("RandomShuffle", {rows}, {{"seed", 1}, {"seed2", 2}}).value();
  const std::multiset<std::string> seen(x.flat<std::string>().begin(), x.flat<std::string>().end());
  EXPECT_EQ(seen, (std::multiset<std::string>{"a", "b", "c", "d", "e"}));
}

// The values are TensorFlow's.
TEST(RandomTest, ShufflesOneAfterAnotherTakeAsManyNumbersAsTheySwap) {
  const Tensor five = Tensor::Vector<int32_t>({0, 1, 2, 3, 4});
  KernelRunner shuffle =
      KernelRunner::Create("RandomShuffle", {five}, {{"seed", 9}, {"seed2", 4}}).value();
  const auto next = [&](const Tensor& rows) {
    const Tensor shuffled = shuffle.Run({rows}).value()[0];
    const auto flat = shuffled.flat<int32_t>();
    return std::vector<int32_t>(flat.begin(), flat.end());
  };
  EXPECT_EQ(next(five), (std::vector<int32_t>{3, 4, 1, 0, 2}));
  EXPECT_EQ(next(Tensor::Vector<int32_t>({7})), std::vector<int32_t>{7});
  EXPECT_EQ(next(Tensor::Zeros(DType::kInt32, {5, 0}).value()), std::vector<int32_t>());
  EXPECT_EQ(next(five), (std::vector<int32_t>{1, 4, 3, 2, 0}));
  EXPECT_EQ(next(five), (std::vector<int32_t>{2, 4, 3, 0, 1}));
}

TEST(RandomTest, DrawsFollowTheLogits) {
  const Tensor logits = Tensor::Of<float>({1, 3}, {0, -INFINITY, std::log(3.0f)});
  const Tensor x =
      RunOp("StatelessMultinomial", {logits, Tensor::Scalar<int32_t>(40000), kSeed}).value();
  int64_t counts[3] = {};
  for (int64_t v : x.flat<int64_t>()) ++counts[v];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0] / 4e4, 0.25, 0.01);
}

TEST(RandomTest, BadInputsAreRefused) {
  const AttrMap attrs = {{"dtype", DType::kFloat}};
  EXPECT_EQ(RunOp("StatelessRandomUniform", {ShapeOf({-1}), kSeed}, attrs).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunOp("StatelessRandomUniform", {ShapeOf({1}), Tensor::Vector<int64_t>({1})}, attrs)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunOp("StatelessRandomUniformV2",
                  {ShapeOf({1}), Tensor::Vector<uint64_t>({1}), Tensor::Vector<uint64_t>({1, 2}),
                   Tensor::Scalar<int32_t>(2)},
                  attrs)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RandomTest, KeysOfNothingAreCheckedAndTheirAlgorithmIsNot) {
  const AttrMap attrs = {{"dtype", DType::kFloat}};
  const auto code = [&](const Tensor& key, const Tensor& counter) {
    return RunOp("StatelessRandomUniformV2",
                 {ShapeOf({0}), key, counter, Tensor::Scalar<int32_t>(7)}, attrs)
        .status()
        .code();
  };
  const Tensor key = Tensor::Vector<uint64_t>({1}), counter = Tensor::Vector<uint64_t>({1, 2});
  EXPECT_EQ(code(key, counter), absl::StatusCode::kOk);
  for (const Tensor& wrong : {Tensor::Vector<uint64_t>({}), counter, Tensor::Scalar<uint64_t>(1)}) {
    EXPECT_EQ(code(wrong, counter), absl::StatusCode::kInvalidArgument);
  }
  for (const Tensor& wrong : {Tensor::Vector<uint64_t>({}), Tensor::Scalar<uint64_t>(1)}) {
    EXPECT_EQ(code(key, wrong), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tessera
