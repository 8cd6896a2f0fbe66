#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

Tensor Column(const std::vector<int64_t>& indices) {
  return Tensor::Vector<int64_t>(indices)
      .Reshaped({static_cast<int64_t>(indices.size()), 1})
      .value();
}

TEST(SparseTest, TheThresholdDropsSumsOfTwo) {
  std::vector<Tensor> inputs = {
      Column({0, 1, 2}),  Tensor::Vector<float>({0, 1, 4}),  Tensor::Vector<int64_t>({4}),
      Column({1, 2, 3}),  Tensor::Vector<float>({-2, 4, 3}), Tensor::Vector<int64_t>({4}),
      Tensor::Scalar(5.f)};
  KernelRunner runner = KernelRunner::Create("SparseAdd", inputs).value();
  const std::vector<Tensor> sum = runner.Run(inputs).value();
  const auto indices = sum[0].flat<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(indices.begin(), indices.end()), (std::vector<int64_t>{0, 2, 3}));
  const auto values = sum[1].flat<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 8, 3}));
}

TEST(SparseTest, LargeIntegersAreComparedExactlyWithTheThreshold) {
  const auto kept = [](int64_t sum, int64_t threshold) {
    const Tensor size = Tensor::Vector<int64_t>({1});
    const std::vector<Tensor> inputs = {Column({0}),
                                        Tensor::Vector<int64_t>({sum}),
                                        size,
                                        Column({0}),
                                        Tensor::Vector<int64_t>({0}),
                                        size,
                                        Tensor::Scalar(threshold)};
    return KernelRunner::Create("SparseAdd", inputs)->Run(inputs).value()[1].num_elements();
  };
  constexpr int64_t kLarge = int64_t{1} << 60;
  EXPECT_EQ(kept(kLarge + 1, kLarge + 1), 1);
  EXPECT_EQ(kept(-kLarge - 1, kLarge + 1), 1);
  EXPECT_EQ(kept(kLarge + 1, kLarge + 2), 0);
  EXPECT_EQ(kept(std::numeric_limits<int64_t>::min(), 1), 0) << "as in TensorFlow";
}

TEST(SparseTest, ConjugatesOfMatricesKeepTheirEntries) {
  using Complex = std::complex<float>;
  const std::vector<Complex> values = {{1, 2}, {0, 0}, {0, 0}, {3, -4}};
  const Tensor dense = Tensor::Of<Complex>({2, 2}, values);
  const Tensor indices = Tensor::Of<int64_t>({2, 2}, {0, 0, 1, 1});
  const Tensor matrix = RunOp("DenseToCSRSparseMatrix", {dense, indices}).value();
  const Tensor conjugate = RunOp("Conj", {matrix}).value();
  const AttrMap attrs = {{"type", DType::kComplex64}};
  const Tensor y = RunOp("CSRSparseMatrixToDense", {conjugate}, attrs).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y.flat<Complex>()[i], std::conj(values[i])) << i;
  const Tensor before = RunOp("CSRSparseMatrixToDense", {matrix}, attrs).value();
  EXPECT_EQ(before.flat<Complex>()[0], values[0]) << "the operand is as it was";

  const Tensor real = Tensor::Of<float>({2, 2}, {1, 0, 0, 3});
  const Tensor same =
      RunOp("Conj", {RunOp("DenseToCSRSparseMatrix", {real, indices}).value()}).value();
  EXPECT_EQ(
      RunOp("CSRSparseMatrixToDense", {same}, {{"type", DType::kFloat}}).value().flat<float>()[3],
      3);
  const Tensor none = Tensor::Zeros(DType::kVariant, {2}).value();
  EXPECT_EQ(RunOp("Conj", {none}).status().code(), absl::StatusCode::kInvalidArgument);
}

// A row of the sum serves both operands before the next one, so that indices which repeat in one
// of them all get its gradient while the other catches up.
TEST(SparseTest, RepeatedIndicesGetTheGradientOfTheirSumLikeTensorFlows) {
  const std::vector<Tensor> inputs = {Tensor::Vector<float>({5, 6, 7}), Column({0, 0, 1, 2}),
                                      Column({3, 3}), Column({0, 0, 3})};
  KernelRunner runner = KernelRunner::Create("SparseAddGrad", inputs).value();
  const std::vector<Tensor> gradients = runner.Run(inputs).value();
  const auto left = gradients[0].flat<float>(), right = gradients[1].flat<float>();
  EXPECT_EQ(std::vector<float>(left.begin(), left.end()), (std::vector<float>{5, 6, 0, 0}));
  EXPECT_EQ(std::vector<float>(right.begin(), right.end()), (std::vector<float>{7, 7}));
}

TEST(SparseTest, IndicesThatTheSumLacksGetNoGradient) {
  const std::vector<Tensor> inputs = {Tensor::Vector<float>({5, 6}), Column({0, 1, 4}), Column({}),
                                      Column({1, 4})};
  KernelRunner runner = KernelRunner::Create("SparseAddGrad", inputs).value();
  const std::vector<Tensor> gradients = runner.Run(inputs).value();
  const auto left = gradients[0].flat<float>();
  EXPECT_EQ(std::vector<float>(left.begin(), left.end()), (std::vector<float>{0, 5, 6}));
  EXPECT_EQ(gradients[1].shape(), Shape({0}));
}

// The attribute `hashed_output` may say otherwise.
TEST(SparseTest, CrossesAreOfTheirOutputsType) {
  const Tensor dense = Tensor::Zeros(DType::kInt64, {2, 1}).value();
  for (const DType type : {DType::kInt64, DType::kString}) {
    KernelRunner runner = KernelRunner::Create("SparseCross", {dense},
                                               {{"N", 0},
                                                {"hashed_output", type == DType::kString},
                                                {"num_buckets", 10},
                                                {"hash_key", 1},
                                                {"sparse_types", std::vector<DType>{}},
                                                {"dense_types", std::vector<DType>{DType::kInt64}},
                                                {"out_type", type},
                                                {"internal_type", DType::kInt64}})
                              .value();
    EXPECT_EQ(runner.Run({dense}).value()[1].dtype(), type);
  }
}

TEST(SparseTest, CrossesNeedValuesForEachSparseColumn) {
  const Tensor values = Tensor::Vector<std::string>({"a"});
  const Tensor dense = Tensor::Of<std::string>({1, 1}, {"b"});
  KernelRunner runner = KernelRunner::Create("SparseCross", {values, dense},
                                             {{"N", 0},
                                              {"hashed_output", false},
                                              {"num_buckets", 0},
                                              {"hash_key", 1},
                                              {"sparse_types", std::vector<DType>{DType::kString}},
                                              {"dense_types", std::vector<DType>{DType::kString}},
                                              {"out_type", DType::kString},
                                              {"internal_type", DType::kString}})
                            .value();
  EXPECT_EQ(runner.Run({values, dense}).status().code(), absl::StatusCode::kInvalidArgument);
}

// The numbers are TensorFlow's.
TEST(SparseTest, GradientsOfASliceFollowTheOrderOfTheTensor) {
  const Tensor indices =
      Tensor::Of<int64_t>({8, 2}, {2, 0, 1, 1, 0, 2, 1, 2, 0, 1, 0, 0, 1, 2, 1, 1});
  const Tensor start = Tensor::Vector<int64_t>({0, 1});
  const Tensor slice = Tensor::Of<int64_t>({2, 2}, {0, 1, 1, 0});
  const auto gradient =
      RunOp("SparseSliceGrad", {Tensor::Vector<float>({7, 10}), indices, start, slice});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(gradient->flat<float>(),
            absl::MakeConstSpan({0.f, 0.f, 7.f, 0.f, 0.f, 0.f, 0.f, 10.f}));

  const Tensor elsewhere = Tensor::Of<int64_t>({2, 2}, {1, 0, 5, 5});
  EXPECT_EQ(RunOp("SparseSliceGrad", {Tensor::Vector<float>({7, 10}), indices, start, elsewhere})
                .status()
                .code(),
            absl::StatusCode::kInternal);
}

// Unsorted indices, some of them outside of the dense shape, and a box that the shape cuts.
TEST(SparseTest, ASliceHasTheValuesOfItsBoxInTheirOrder) {
  const int64_t kCount = 500, begin[] = {3, 2}, size[] = {5, 100}, shape[] = {12, 9};
  Tensor indices = Tensor::Allocate(DType::kInt64, {kCount, 2}).value();
  Tensor values = Tensor::Allocate(DType::kFloat, {kCount}).value();
  std::vector<int64_t> want_indices;
  std::vector<float> want_values;
  for (int64_t i = 0; i < kCount; ++i) {
    int64_t* const index = indices.data<int64_t>() + 2 * i;
    index[0] = i * 7 % 15 - 2;
    index[1] = i * 5 % 13 - 3;
    values.data<float>()[i] = static_cast<float>(i);
    if (index[0] < 3 || index[0] >= 8 || index[1] < 2 || index[1] >= 9) continue;
    want_indices.insert(want_indices.end(), {index[0] - 3, index[1] - 2});
    want_values.push_back(static_cast<float>(i));
  }
  const std::vector<Tensor> inputs = {indices, values, Tensor::Vector<int64_t>(shape),
                                      Tensor::Vector<int64_t>(begin),
                                      Tensor::Vector<int64_t>(size)};
  const std::vector<Tensor> slice =
      KernelRunner::Create("SparseSlice", inputs).value().Run(inputs).value();
  EXPECT_EQ(slice[0].flat<int64_t>(), absl::MakeConstSpan(want_indices));
  EXPECT_EQ(slice[1].flat<float>(), absl::MakeConstSpan(want_values));
  EXPECT_EQ(slice[2].flat<int64_t>(), absl::MakeConstSpan({int64_t{5}, int64_t{7}}));
}

// Values of a row need not follow each other.
TEST(SparseTest, CrossesOfUnsortedRowsComeInTheOrderOfTheRows) {
  const Tensor indices = Tensor::Of<int64_t>({5, 2}, {3, 0, 1, 0, 3, 1, 0, 0, 1, 1});
  const std::vector<Tensor> inputs = {
      indices, Tensor::Vector<std::string>({"a", "b", "c", "d", "e"}),
      Tensor::Vector<int64_t>({4, 2}),
      Tensor::Of<std::string>({4, 2}, {"s", "t", "u", "v", "w", "x", "y", "z"}),
      Tensor::Scalar<std::string>("_")};
  KernelRunner runner = KernelRunner::Create("SparseCrossV2", inputs,
                                             {{"N", 1},
                                              {"sparse_types", std::vector<DType>{DType::kString}},
                                              {"dense_types", std::vector<DType>{DType::kString}}})
                            .value();
  const std::vector<Tensor> crossed = runner.Run(inputs).value();
  const auto values = crossed[1].flat<std::string>();
  EXPECT_EQ(std::vector<std::string>(values.begin(), values.end()),
            (std::vector<std::string>{"d_s", "d_t", "b_u", "b_v", "e_u", "e_v", "a_y", "a_z", "c_y",
                                      "c_z"}));
}

TEST(SparseTest, SequencesAreComparedAsNumbers) {
  const Tensor indices = Tensor::Of<int64_t>({3, 2}, {0, 0, 0, 1, 0, 2});
  const Tensor shape = Tensor::Vector<int64_t>({1, 3});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor hypothesis = Tensor::Vector<float>({0, nan, 2});
  const Tensor truth = Tensor::Vector<float>({-0.f, nan, 2});
  const auto distance = RunOp("EditDistance", {indices, hypothesis, shape, indices, truth, shape},
                              {{"normalize", false}});
  ASSERT_TRUE(distance.ok()) << distance.status();
  EXPECT_EQ(distance->flat<float>()[0], 1) << "NaN equals nothing";
}

TEST(SparseTest, RowsAreAddedToAMapInOrder) {
  const auto add = [](std::initializer_list<int64_t> indices) {
    return RunOp("AddManySparseToTensorsMap",
                 {Tensor::Of<int64_t>({2, 2}, std::vector<int64_t>(indices)),
                  Tensor::Vector<float>({1, 2}), Tensor::Vector<int64_t>({2, 3})})
        .status()
        .code();
  };
  EXPECT_EQ(add({0, 2, 1, 0}), absl::StatusCode::kOk);
  EXPECT_EQ(add({0, 2, 1, 3}), absl::StatusCode::kInvalidArgument) << "outside";
  EXPECT_EQ(add({0, 2, 0, 1}), absl::StatusCode::kInvalidArgument) << "not in order";
  EXPECT_EQ(add({0, 1, 0, 1}), absl::StatusCode::kInvalidArgument) << "repeated";
}

// The numbers are TensorFlow's.
TEST(SparseTest, ExtremaOfNaNsAreNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor shape = Tensor::Vector<int64_t>({4});
  const std::vector<Tensor> inputs = {
      Column({0, 1, 2}), Tensor::Vector<float>({nan, 1, 1}),   shape,
      Column({0, 1, 3}), Tensor::Vector<float>({1, nan, nan}), shape};
  for (const char* op : {"SparseSparseMaximum", "SparseSparseMinimum"}) {
    const auto extrema = KernelRunner::Create(op, inputs)->Run(inputs).value()[1].flat<float>();
    for (const int i : {0, 1, 3}) EXPECT_TRUE(std::isnan(extrema[i])) << op << " " << i;
  }
  const auto greatest =
      RunOp("SparseReduceMax", {Tensor::Of<int64_t>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}),
                                Tensor::Vector<float>({nan, 1, 1, nan}),
                                Tensor::Vector<int64_t>({2, 2}), Tensor::Vector<int32_t>({1})})
          .value();
  EXPECT_EQ(greatest.flat<float>()[0], 1);
  EXPECT_TRUE(std::isnan(greatest.flat<float>()[1]));
}

}  // namespace
}  // namespace tessera
