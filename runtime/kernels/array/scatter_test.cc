#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A variable and what ops change it by.
class ScatterTest : public ::testing::Test {
 protected:
  void SetValue(Tensor value) {
    variable_ = MakeRefCounted<Variable>(value.dtype(), PartialShape(value.shape()));
    variable_->Assign(std::move(value));
  }
  absl::Status Run(const char* op, const Tensor& indices, const Tensor& updates) {
    ResourceHandle handle;
    handle.type_name = std::string(Variable::kTypeName);
    handle.resource = variable_;
    const std::vector<Tensor> inputs = {Tensor::Scalar(std::move(handle)), indices, updates};
    absl::StatusOr<KernelRunner> runner =
        KernelRunner::Create(op, inputs, {{"dtype", updates.dtype()}});
    if (!runner.ok()) return runner.status();
    return runner->Run(inputs).status();
  }
  std::vector<float> value() const {
    const Tensor value = variable_->Read();
    return {value.flat<float>().begin(), value.flat<float>().end()};
  }

  IntrusivePtr<Variable> variable_;
};

TEST_F(ScatterTest, AnIndexCountsAsOftenAsItStandsThere) {
  const Tensor indices = Tensor::Vector<int32_t>({2, 0, 2});
  const Tensor updates = Tensor::Vector<float>({1, 2, 4});
  SetValue(Tensor::Vector<float>({10, 20, 30}));
  ASSERT_TRUE(Run("ResourceScatterAdd", indices, updates).ok());
  EXPECT_THAT(value(), ElementsAre(12, 20, 35));
  ASSERT_TRUE(Run("ResourceScatterUpdate", indices, updates).ok());
  EXPECT_THAT(value(), ElementsAre(2, 20, 4));
}

TEST_F(ScatterTest, AScalarUpdatesAllElementsOfTheSlices) {
  SetValue(Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  ASSERT_TRUE(Run("ResourceScatterMul", Tensor::Vector<int64_t>({1}), Tensor::Scalar(10.f)).ok());
  EXPECT_THAT(value(), ElementsAre(1, 2, 30, 40));
}

TEST_F(ScatterTest, ABadIndexLeavesTheVariableAsItWas) {
  SetValue(Tensor::Vector<float>({1, 2}));
  const absl::Status status =
      Run("ResourceScatterAdd", Tensor::Vector<int32_t>({0, 2}), Tensor::Vector<float>({5, 5}));
  EXPECT_EQ(status.message(), "indices[1] = 2 is not in [0, 2)");
  EXPECT_THAT(value(), ElementsAre(1, 2));
}

TEST_F(ScatterTest, IndicesOfEmptyRowsAreChecked) {
  SetValue(Tensor::Of<float>({3, 0}, {}));
  const Tensor no_values = Tensor::Of<float>({1, 0}, {});
  EXPECT_TRUE(Run("ResourceScatterAdd", Tensor::Vector<int32_t>({2}), no_values).ok());
  EXPECT_EQ(Run("ResourceScatterAdd", Tensor::Vector<int32_t>({5}), no_values).message(),
            "indices[0] = 5 is not in [0, 3)");
}

TEST_F(ScatterTest, ReadersKeepTheValueThatTheyRead) {
  SetValue(Tensor::Vector<float>({1, 2}));
  const Tensor read = variable_->Read();
  ASSERT_TRUE(
      Run("ResourceScatterUpdate", Tensor::Vector<int32_t>({0}), Tensor::Vector<float>({9})).ok());
  EXPECT_THAT(read.flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(value(), ElementsAre(9, 2));
}

TEST_F(ScatterTest, DividesByNoIntegerZero) {
  SetValue(Tensor::Vector<int32_t>({4, 6}));
  const absl::Status status =
      Run("ResourceScatterDiv", Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<int32_t>({2, 0}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(variable_->Read().flat<int32_t>(), ElementsAre(4, 6));
}

// Neither do floating-point numbers, by handle; by reference the quotient is infinite.
TEST_F(ScatterTest, ByHandleDividesByNoZeroAtAll) {
  SetValue(Tensor::Vector<float>({4, 6}));
  EXPECT_EQ(
      Run("ResourceScatterDiv", Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<float>({2, 0})),
      absl::InvalidArgumentError("updates must not contain 0"));
  EXPECT_EQ(
      Run("ResourceScatterDiv", Tensor::Of<int32_t>({0}, {}), Tensor::Scalar<float>(0)).message(),
      "updates must not contain 0");
  EXPECT_THAT(value(), ElementsAre(4, 6));
}

// A handle does not tell the type of its variable.
TEST_F(ScatterTest, UpdatesOfAnotherTypeAreRefused) {
  SetValue(Tensor::Of<float>({2, 1}, {1, 2}));
  const Tensor updates = Tensor::Of<double>({1, 1}, {5});
  EXPECT_EQ(Run("ResourceScatterAdd", Tensor::Vector<int32_t>({1}), updates),
            absl::InvalidArgumentError("the variable holds float, it is taken for double"));
  EXPECT_EQ(Run("ResourceScatterNdUpdate", Tensor::Of<int32_t>({1, 1}, {0}), updates).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(value(), ElementsAre(1, 2));
}

// As TensorFlow's kernels do, which take the vector for a matrix of one row afterwards.
TEST_F(ScatterTest, OfAVectorOfRowsTheFirstIsChanged) {
  SetValue(Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Tensor rows = Tensor::Vector<int32_t>({1, 0});
  ASSERT_TRUE(Run("ResourceScatterNdAdd", rows, Tensor::Of<float>({2, 2}, {10, 20, 30, 40})).ok());
  EXPECT_THAT(value(), ElementsAre(1, 2, 13, 24, 5, 6));
  ASSERT_TRUE(Run("ResourceScatterNdUpdate", Tensor::Vector<int32_t>({2, 7}),
                  Tensor::Of<float>({2, 2}, {8, 9, 0, 0}))
                  .ok());
  EXPECT_THAT(value(), ElementsAre(1, 2, 13, 24, 8, 9));
  EXPECT_TRUE(
      Run("ResourceScatterNdMax", Tensor::Of<int32_t>({0}, {}), Tensor::Of<float>({0, 2}, {}))
          .ok());
}

TEST_F(ScatterTest, AVectorOfCoordinatesIsRefused) {
  SetValue(Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  for (const Tensor& updates : {Tensor::Vector<float>({1}), Tensor::Vector<float>({1, 2}),
                                Tensor::Of<float>({2, 1}, {1, 2})}) {
    const absl::Status status =
        Run("ResourceScatterNdSub", Tensor::Vector<int32_t>({1, 0}), updates);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
  const Tensor row = Tensor::Of<float>({1, 2}, {1, 2});
  const absl::Status status = Run("ResourceScatterNdSub", Tensor::Vector<int32_t>({3}), row);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(value(), ElementsAre(1, 2, 3, 4, 5, 6));
}

absl::StatusOr<Tensor> ScatterIntoTensor(const char* policy, const Tensor& tensor,
                                         std::initializer_list<int32_t> rows,
                                         const Tensor& updates) {
  const Tensor indices = Tensor::Of<int32_t>({static_cast<int64_t>(rows.size()), 1}, rows);
  return RunOp("TensorScatterUpdate", {tensor, indices, updates}, {{"bad_indices_policy", policy}});
}

TEST(TensorScatterTest, LeavesOutBadCoordinatesOnRequestOnly) {
  const Tensor tensor = Tensor::Vector<float>({1, 2, 3});
  const Tensor updates = Tensor::Vector<float>({7, 8, 9});
  EXPECT_THAT(ScatterIntoTensor("IGNORE", tensor, {-1, 2, 3}, updates)->flat<float>(),
              ElementsAre(1, 2, 8));
  EXPECT_EQ(ScatterIntoTensor("", tensor, {2, 3, -1}, updates).status().message(),
            "indices[1] = [3] does not lie within shape [3]");
  EXPECT_THAT(tensor.flat<float>(), ElementsAre(1, 2, 3));
}

TEST(TensorScatterTest, AnEmptyTensorTakesNoUpdates) {
  const absl::Status status =
      ScatterIntoTensor("", Tensor::Of<float>({3, 0}, {}), {1}, Tensor::Of<float>({1, 0}, {}))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("empty output"));
  EXPECT_TRUE(
      ScatterIntoTensor("", Tensor::Of<float>({3, 0}, {}), {}, Tensor::Of<float>({0, 0}, {})).ok());
}

}  // namespace
}  // namespace tessera
