#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/kernels/parsing/example_parser.h"
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

// An Example of the feature "a" with an int64 list of one value, then of the same feature without
// a list.
std::string ListThenNone() {
  constexpr absl::string_view kList("\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x07", 12);
  constexpr absl::string_view kNone("\x0a\x05\x0a\x01\x61\x12\x00", 7);
  return absl::StrCat(absl::string_view("\x0a\x13", 2), kList, kNone);
}

TEST(ParseExampleTest, FeatureWithoutListHidesAnEarlierOneOnlyInRowsOfABatch) {
  const SparseFeature sparse{.key = "a", .dtype = DType::kInt64};
  const RaggedFeature ragged{.key = "a", .dtype = DType::kInt64, .split_type = DType::kInt64};
  DenseFeature dense{.key = "a", .dtype = DType::kInt64, .shape = PartialShape(Shape())};
  dense.default_value = Tensor::Scalar<int64_t>(9);
  for (const bool batched : {false, true}) {
    const auto parse = [&](const ExampleSpec& spec) {
      return ParseExamples(spec, {ListThenNone()}, {}, batched, HeapAllocator()).value();
    };
    const int64_t rows = batched ? 0 : 1;
    EXPECT_EQ(parse({.sparse = {sparse}}).sparse_values[0].num_elements(), rows);
    EXPECT_EQ(parse({.ragged = {ragged}}).ragged_values[0].num_elements(), rows);
    EXPECT_EQ(*parse({.dense = {dense}}).dense_values[0].data<int64_t>(), 7);
    const ExampleSpec context = {.sparse = {sparse}, .is_context = true};
    EXPECT_EQ(parse(context).sparse_values[0].num_elements(), 0);
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
