#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The outputs of TensorArrayV3: a handle, which owns the array, and a flow.
std::vector<Tensor> MakeArray(int32_t size) {
  const Tensor input = Tensor::Scalar(size);
  return KernelRunner::Create("TensorArrayV3", {input}, {{"dtype", DType::kFloat}})
      .value()
      .Run({input})
      .value();
}

absl::StatusOr<Tensor> Split(const std::vector<Tensor>& array, Tensor value,
                             std::initializer_list<int64_t> lengths) {
  return RunOp("TensorArraySplitV3",
               {array[0], std::move(value), Tensor::Vector<int64_t>(lengths), array[1]});
}

Tensor Read(const std::vector<Tensor>& array, int32_t index) {
  return RunOp("TensorArrayReadV3", {array[0], Tensor::Scalar(index), array[1]},
               {{"dtype", DType::kFloat}})
      .value();
}

TEST(TensorArraySplitTest, ElementsAreRowsOfTheGivenLengths) {
  const std::vector<Tensor> array = MakeArray(3);
  const Tensor value = Tensor::Vector<float>({1, 2, 3, 4, 5, 6}).Reshaped({3, 2}).value();
  const auto flow = Split(array, value, {1, 0, 2});
  ASSERT_TRUE(flow.ok()) << flow.status();
  EXPECT_EQ(flow->shape(), Shape({}));
  EXPECT_THAT(Read(array, 0).flat<float>(), ElementsAre(1, 2));
  EXPECT_EQ(Read(array, 1).shape(), Shape({0, 2}));
  const Tensor last = Read(array, 2);
  EXPECT_EQ(last.shape(), Shape({2, 2}));
  EXPECT_THAT(last.flat<float>(), ElementsAre(3, 4, 5, 6));
}

TEST(TensorArraySplitTest, LengthsMustAddUpToTheRows) {
  const Tensor value = Tensor::Vector<float>({1, 2, 3});
  EXPECT_THAT(std::string(Split(MakeArray(2), value, {1, 1}).status().message()),
              HasSubstr("add up to 2"));
  EXPECT_THAT(std::string(Split(MakeArray(2), value, {2, 2}).status().message()),
              HasSubstr("lengths[1] = 2"));
  EXPECT_THAT(std::string(Split(MakeArray(1), Tensor::Scalar(1.0f), {1}).status().message()),
              HasSubstr("scalar"));
}

TEST(TensorArraySplitTest, EachElementHasALength) {
  const Tensor value = Tensor::Vector<float>({1, 2, 3});
  EXPECT_THAT(std::string(Split(MakeArray(3), value, {1, 2}).status().message()),
              HasSubstr("array of 3 elements"));
  const std::vector<Tensor> array = MakeArray(1);
  const Tensor scalar = Tensor::Scalar<int64_t>(3);
  EXPECT_EQ(RunOp("TensorArraySplitV3", {array[0], value, scalar, array[1]}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TensorArrayConcatTest, RefusesMoreRowsThanFitInANumber) {
  const std::vector<Tensor> array = MakeArray(4);
  const Tensor rows = Tensor::Zeros(DType::kFloat, {int64_t{1} << 62, 0}).value();
  for (int32_t i = 0; i < 4; ++i) {
    const auto flow = RunOp("TensorArrayWriteV3", {array[0], Tensor::Scalar(i), rows, array[1]});
    ASSERT_TRUE(flow.ok()) << flow.status();
  }
  const std::vector<Tensor> inputs = {array[0], array[1]};
  auto joined = KernelRunner::Create("TensorArrayConcatV3", inputs, {{"dtype", DType::kFloat}});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->Run(inputs).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorArrayGatherTest, ItsShapeIsThatOfAllElementsFromThenOn) {
  const std::vector<Tensor> array = MakeArray(3);
  const auto write = [&](int32_t index, std::initializer_list<float> value) {
    return RunOp("TensorArrayWriteV3",
                 {array[0], Tensor::Scalar(index), Tensor::Vector<float>(value), array[1]})
        .status();
  };
  const auto gather = [&](const PartialShape& shape) {
    return RunOp("TensorArrayGatherV3", {array[0], Tensor::Vector<int32_t>({0}), array[1]},
                 {{"dtype", DType::kFloat}, {"element_shape", shape}})
        .status()
        .code();
  };
  ASSERT_TRUE(write(0, {1, 2}).ok());
  EXPECT_EQ(gather(PartialShape({2})), absl::StatusCode::kOk);
  EXPECT_EQ(write(1, {1, 2, 3}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Read(array, 2).flat<float>(), ElementsAre(0, 0)) << "it was never written";
  EXPECT_EQ(gather(PartialShape({3})), absl::StatusCode::kInvalidArgument);
}

TEST(TensorArrayGradTest, ZerosLieBehindTheEnd) {
  const Tensor size = Tensor::Scalar<int32_t>(2);
  const std::vector<Tensor> array =
      KernelRunner::Create("TensorArrayV3", {size},
                           {{"dtype", DType::kFloat}, {"element_shape", PartialShape({3})}})
          .value()
          .Run({size})
          .value();
  const std::vector<Tensor> gradient =
      KernelRunner::Create("TensorArrayGradV3", array, {{"source", "gradients"}})
          .value()
          .Run(array)
          .value();
  const auto read = [](const std::vector<Tensor>& from, int32_t index) {
    return RunOp("TensorArrayReadV3", {from[0], Tensor::Scalar(index), from[1]},
                 {{"dtype", DType::kFloat}});
  };
  const auto zeros = read(gradient, 5);
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_THAT(zeros->flat<float>(), ElementsAre(0, 0, 0));
  EXPECT_EQ(read(gradient, -1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(read(array, 5).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
