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
    const ExampleSpec context = {.sparse = {sparse}, .form = ExampleForm::kContext};
    EXPECT_EQ(parse(context).sparse_values[0].num_elements(), 0);
  }
}

std::string Bytes(int field, absl::string_view bytes) {
  return absl::StrCat(std::string{static_cast<char>(field << 3 | 2)},
                      std::string{static_cast<char>(bytes.size())}, bytes);
}

// Returns the values of the feature "a" of an Example or context whose Features have these bytes,
// or -1 for INVALID_ARGUMENT. `default_value` is that of a dense feature; without one the feature
// is sparse.
int64_t ValueIn(const std::string& features, ExampleForm form,
                absl::optional<int64_t> default_value = absl::nullopt) {
  ExampleSpec spec{.form = form};
  if (default_value.has_value()) {
    DenseFeature dense{.key = "a", .dtype = DType::kInt64, .shape = PartialShape(Shape())};
    dense.default_value = Tensor::Scalar(*default_value);
    spec.dense = {dense};
  } else {
    spec.sparse = {{.key = "a", .dtype = DType::kInt64}};
  }
  const auto parsed = ParseExamples(spec, {Bytes(1, features)}, {}, true, HeapAllocator());
  if (!parsed.ok()) {
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << parsed.status();
    return -1;
  }
  const Tensor& values =
      default_value.has_value() ? parsed->dense_values[0] : parsed->sparse_values[0];
  return values.num_elements() == 1 ? values.data<int64_t>()[0] : 0;
}

constexpr ExampleForm kForms[] = {ExampleForm::kExample, ExampleForm::kContext,
                                  ExampleForm::kSingleContext};

TEST(ParseExampleTest, EntriesHaveAKeyAndAValue) {
  const std::string key = Bytes(1, "a"), value = Bytes(2, Bytes(3, Bytes(1, "\7")));
  for (const ExampleForm form : kForms) {
    // ParseSingleSequenceExample reads messages by the rules of protocol buffers.
    const bool is_lax = form == ExampleForm::kSingleContext;
    EXPECT_EQ(ValueIn(Bytes(1, key + value), form), 7);
    EXPECT_EQ(ValueIn(Bytes(1, value + key), form), form == ExampleForm::kContext ? -1 : 7);
    EXPECT_EQ(ValueIn(Bytes(1, key), form), is_lax ? 0 : -1);
    EXPECT_EQ(ValueIn(Bytes(1, value), form), is_lax ? 0 : -1);
    EXPECT_EQ(ValueIn(Bytes(1, key + key), form), is_lax ? 0 : -1);
    EXPECT_EQ(ValueIn(Bytes(1, key + value + Bytes(3, "")), form), is_lax ? 7 : -1);
    EXPECT_EQ(ValueIn(Bytes(1, key + value) + Bytes(2, ""), form), is_lax ? 7 : -1);
  }
}

TEST(ParseExampleTest, FeaturesBeginWithTheirList) {
  const std::string seven = Bytes(3, Bytes(1, "\7")), text = Bytes(1, Bytes(1, "text"));
  const auto features = [](absl::string_view feature) {
    return Bytes(1, Bytes(1, "a") + Bytes(2, feature));
  };
  for (const ExampleForm form : kForms) {
    const bool is_lax = form == ExampleForm::kSingleContext;
    EXPECT_EQ(ValueIn(features(seven + text), form), is_lax ? -1 : 7);
    EXPECT_EQ(ValueIn(features(text + seven), form), is_lax ? 7 : -1);
    EXPECT_EQ(ValueIn(features(Bytes(5, "")), form), is_lax ? 0 : -1);
    // Nobody looks at the features that are not asked for.
    EXPECT_EQ(ValueIn(Bytes(1, Bytes(1, "b") + Bytes(2, Bytes(5, ""))) + features(seven), form), 7);
  }
  const std::string unknown_first = features(Bytes(5, "")) + features(seven);
  EXPECT_EQ(ValueIn(unknown_first, ExampleForm::kExample), -1);
  EXPECT_EQ(ValueIn(unknown_first, ExampleForm::kContext), 7);
}

TEST(ParseExampleTest, DefaultsOfAContextDoNotStandForFeaturesWithoutList) {
  const std::string no_list = Bytes(1, Bytes(1, "a") + Bytes(2, ""));
  for (const ExampleForm form : kForms) {
    EXPECT_EQ(ValueIn("", form, 9), 9);
    EXPECT_EQ(ValueIn(no_list, form, 9), form == ExampleForm::kExample ? 9 : -1);
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
