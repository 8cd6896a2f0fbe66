#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Floats(const Shape& shape) {
  Tensor tensor = *Tensor::Zeros(DType::kFloat, shape, HeapAllocator());
  float next = 0;
  for (float& element : tensor.flat<float>()) element = next++;
  return tensor;
}

// A handle of a variable with this value.
Tensor HandleOf(const Tensor& value) {
  auto variable = MakeRefCounted<Variable>(value.dtype(), PartialShape(value.shape()));
  variable->Assign(value);
  ResourceHandle handle;
  handle.type_name = std::string(Variable::kTypeName);
  handle.resource = variable;
  return Tensor::Scalar(std::move(handle));
}

absl::StatusOr<Tensor> Gather(const Tensor& params, const Tensor& indices, int32_t axis) {
  return RunOp("GatherV2", {params, indices, Tensor::Scalar(axis)});
}

absl::StatusOr<Tensor> ResourceGather(const Tensor& value, std::initializer_list<int32_t> indices) {
  return RunOp("ResourceGather", {HandleOf(value), Tensor::Vector<int32_t>(indices)},
               {{"dtype", value.dtype()}});
}

TEST(GatherTest, NamesTheFirstBadIndex) {
  const Tensor indices = Tensor::Of<int64_t>({2, 2}, {0, 2, -1, 5});
  EXPECT_EQ(Gather(Floats({3, 2}), indices, 0).status().message(),
            "indices[1,0] = -1 is not in [0, 3)");
  EXPECT_EQ(Gather(Floats({3, 2}), Tensor::Scalar<int32_t>(200), 1).status().message(),
            "indices = 200 is not in [0, 2)");
}

TEST(GatherTest, DoesNotLookAtTheIndicesOfEmptySlices) {
  const Tensor bad = Tensor::Vector<int32_t>({5});
  EXPECT_EQ(Gather(Floats({3, 0}), bad, 0)->shape(), Shape({1, 0}));
  EXPECT_EQ(Gather(Floats({0, 3}), bad, 1)->shape(), Shape({0, 1}));
  // These would pick an element that there is not.
  EXPECT_FALSE(Gather(Floats({3, 0}), bad, 1).ok());
  EXPECT_FALSE(Gather(Floats({0, 3}), Tensor::Vector<int32_t>({0}), 0).ok());
}

TEST(GatherTest, OfAVariableChecksItsType) {
  EXPECT_EQ(RunOp("ResourceGather", {HandleOf(Floats({3})), Tensor::Vector<int32_t>({0})},
                  {{"dtype", DType::kInt64}})
                .status(),
            absl::InvalidArgumentError("the variable holds float, it is taken for int64"));
}

TEST(GatherTest, OfAVariableChecksTheIndicesOfEmptySlices) {
  EXPECT_EQ(ResourceGather(Floats({3, 0}), {1})->shape(), Shape({1, 0}));
  EXPECT_EQ(ResourceGather(Floats({3, 0}), {1, 5}).status().message(),
            "indices[1] = 5 is not in [0, 3)");
}

TEST(GatherTest, CopiesStrings) {
  const Tensor params = Tensor::Of<std::string>({3, 2}, {"a", "b", "c", "d", "e", "f"});
  EXPECT_THAT(Gather(params, Tensor::Vector<int32_t>({2, 0}), 0)->flat<std::string>(),
              ElementsAre("e", "f", "a", "b"));
}

TEST(GatherNdTest, OfAnEmptyTensorIsAnErrorWhateverThePolicy) {
  const Tensor valid = Tensor::Of<int32_t>({1, 1}, {1});
  for (const char* policy : {"", "IGNORE"}) {
    const absl::Status status =
        RunOp("GatherNd", {Floats({3, 0}), valid}, {{"bad_indices_policy", policy}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("params is empty"));
  }
  const Tensor none = Tensor::Of<int32_t>({0, 1}, {});
  EXPECT_EQ(RunOp("GatherNd", {Floats({3, 0}), none})->shape(), Shape({0, 0}));
}

TEST(GatherNdTest, IgnoresBadCoordinatesOnRequestOnly) {
  const Tensor indices = Tensor::Of<int32_t>({3, 1}, {1, 3, -1});
  const Tensor picked =
      *RunOp("GatherNd", {Floats({3, 2}), indices}, {{"bad_indices_policy", "IGNORE"}});
  EXPECT_THAT(picked.flat<float>(), ElementsAre(2, 3, 0, 0, 0, 0));
  EXPECT_EQ(RunOp("GatherNd", {Floats({3, 2}), indices}).status().message(),
            "indices[1] = [3] does not lie within shape [3,2]");
}

}  // namespace
}  // namespace tessera
