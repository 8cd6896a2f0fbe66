#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/parsing/feature_list_parser.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(ParseExampleTest, EachDenseFeatureHasAType) {
  const Tensor none = Tensor::Zeros(DType::kString, {0}).value();
  const Tensor key = Tensor::Scalar(std::string("key")), missing = Tensor::Scalar(0.f);
  for (const int keys : {1, 2}) {
    std::vector<Tensor> inputs = {none, none};
    inputs.insert(inputs.end(), keys, key);
    inputs.push_back(missing);
    const auto kernel =
        KernelRunner::Create("ParseExample", inputs,
                             {{"Nsparse", 0},
                              {"Ndense", keys},
                              {"sparse_types", std::vector<DType>{}},
                              {"Tdense", std::vector<DType>{DType::kFloat}},
                              {"dense_shapes", std::vector<PartialShape>{PartialShape(Shape())}}});
    EXPECT_EQ(kernel.ok(), keys == 1) << keys;
  }
}

TEST(ParseExampleTest, ShapesOfDenseListsAreKnown) {
  const std::vector<std::string> serialized = {""};
  DenseFeatureList list{.key = "key", .dtype = DType::kFloat, .may_be_missing = true};
  list.shape = PartialShape(Shape({2}));
  EXPECT_TRUE(ParseFeatureLists({.dense = {list}}, serialized, {}, true, HeapAllocator()).ok());
  list.shape = PartialShape();
  EXPECT_EQ(
      ParseFeatureLists({.dense = {list}}, serialized, {}, true, HeapAllocator()).status().code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
