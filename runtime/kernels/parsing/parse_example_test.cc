#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/kernels/parsing/canonical_example.h"
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
  std::string message = Bytes(1, features);
  if (form == ExampleForm::kSingleContext) {
    absl::StatusOr<std::string> canonical = CanonicalSequenceExample(message);
    if (!canonical.ok()) return -1;
    message = *canonical;
  }
  const auto parsed = ParseExamples(spec, {message}, {}, true, HeapAllocator());
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
    // Only protocol buffers look at the features that are not asked for.
    const std::string other = Bytes(1, Bytes(1, "b") + Bytes(2, "\xff"));
    EXPECT_EQ(ValueIn(other + features(seven), form), is_lax ? -1 : 7);
  }
  const std::string unknown_first = features(Bytes(5, "")) + features(seven);
  EXPECT_EQ(ValueIn(unknown_first, ExampleForm::kExample), -1);
  EXPECT_EQ(ValueIn(unknown_first, ExampleForm::kContext), 7);
}

// Returns the values of the feature "a" of an Example or context, which has this list of int64, or
// absl::nullopt for INVALID_ARGUMENT.
absl::optional<std::vector<int64_t>> IntsIn(const std::string& list, ExampleForm form) {
  std::string message = Bytes(1, Bytes(1, Bytes(1, "a") + Bytes(2, Bytes(3, list))));
  if (form == ExampleForm::kSingleContext) {
    absl::StatusOr<std::string> canonical = CanonicalSequenceExample(message);
    if (!canonical.ok()) return absl::nullopt;
    message = *canonical;
  }
  const ExampleSpec spec = {.sparse = {{.key = "a", .dtype = DType::kInt64}}, .form = form};
  const auto parsed = ParseExamples(spec, {message}, {}, true, HeapAllocator());
  if (!parsed.ok()) return absl::nullopt;
  const auto values = parsed->sparse_values[0].flat<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

TEST(ParseExampleTest, ListsAreReadUpToTheFirstPackedValuesAlone) {
  using Values = std::vector<int64_t>;
  const std::string packed = Bytes(1, "\1"), one = "\x08\1", two = "\x08\2", other = "\x10\3";
  for (const ExampleForm form : kForms) {
    const bool is_lax = form == ExampleForm::kSingleContext;
    EXPECT_EQ(IntsIn(one + two, form), (Values{1, 2}));
    EXPECT_EQ(IntsIn(packed + two, form), is_lax ? (Values{1, 2}) : Values{1});
    EXPECT_EQ(IntsIn(packed + packed, form), is_lax ? (Values{1, 1}) : Values{1});
    EXPECT_EQ(IntsIn(packed + other, form), Values{1});
    const auto refused = [&](Values lax) {
      return is_lax ? absl::make_optional(lax) : absl::nullopt;
    };
    EXPECT_EQ(IntsIn(two + packed, form), refused({2, 1}));
    EXPECT_EQ(IntsIn(other + one, form), refused({1}));
    EXPECT_EQ(IntsIn(one + other, form), refused({1}));
    // A tag of two bytes, and a group.
    EXPECT_EQ(IntsIn(std::string("\x88\0\1", 3), form), refused({1}));
    EXPECT_EQ(IntsIn("\x13\x14" + one, form), refused({1}));
    // Values that end before their size.
    EXPECT_EQ(IntsIn("\x0a\5\1", form), is_lax ? absl::nullopt : absl::make_optional(Values{1}));
  }
}

TEST(ParseExampleTest, WholeFloatsOfAPackedList) {
  const auto count = [](absl::string_view list, ExampleForm form) -> int64_t {
    const std::string message = Bytes(1, Bytes(1, Bytes(1, "a") + Bytes(2, Bytes(2, list))));
    const ExampleSpec spec = {.sparse = {{.key = "a", .dtype = DType::kFloat}}, .form = form};
    const auto parsed = ParseExamples(spec, {message}, {}, true, HeapAllocator());
    return parsed.ok() ? parsed->sparse_values[0].num_elements() : -1;
  };
  const absl::string_view six_bytes("\x0a\6\0\0\0\0\0\0", 8), cut("\x0a\x8\0\0\0\0", 6);
  EXPECT_EQ(count(six_bytes, ExampleForm::kExample), 1);
  EXPECT_EQ(count(six_bytes, ExampleForm::kContext), -1);
  EXPECT_EQ(count(cut, ExampleForm::kExample), -1);
  EXPECT_EQ(count(cut, ExampleForm::kContext), 1);
}

TEST(ParseExampleTest, PartsEndWithWhatContainsThem) {
  const std::string entry = Bytes(1, Bytes(1, "a") + Bytes(2, Bytes(3, Bytes(1, "\7"))));
  for (const ExampleForm form : {ExampleForm::kExample, ExampleForm::kContext}) {
    const ExampleSpec spec = {.sparse = {{.key = "a", .dtype = DType::kInt64}}, .form = form};
    const auto count = [&](const std::string& message) -> int64_t {
      const auto parsed = ParseExamples(spec, {message}, {}, true, HeapAllocator());
      return parsed.ok() ? parsed->sparse_values[0].num_elements() : -1;
    };
    EXPECT_EQ(count("\x0a\x70" + entry), 1);
    EXPECT_EQ(count(Bytes(1, "\x0a\x70" + entry.substr(2))), 1);
    EXPECT_EQ(count(Bytes(1, Bytes(1, Bytes(1, "a") + "\x12\x70\x1a\2\x08\7"))), -1);
    EXPECT_EQ(count(Bytes(1, entry) + "\x4a\5x"), 1);
    EXPECT_EQ(count("\x4b\x4c" + Bytes(1, entry)), -1);
    EXPECT_EQ(count("\x8a" + std::string(1, '\0') + Bytes(1, entry).substr(1)), 0);
  }
}

TEST(ParseExampleTest, CanonicalSequenceExamplesHaveNoRepeatedKeys) {
  const std::string seven = Bytes(3, Bytes(1, "\7")), eight = Bytes(3, Bytes(1, "\x08"));
  const auto canonical = [](const std::string& entries) {
    return CanonicalSequenceExample(Bytes(1, entries));
  };
  const auto entry = [](const std::string& value) { return Bytes(1, Bytes(1, "a") + value); };
  EXPECT_EQ(*canonical(entry(Bytes(2, seven)) + entry(Bytes(2, eight))),
            Bytes(1, entry(Bytes(2, eight))));
  // The values of one entry are merged, and so are the lists of one feature.
  const std::string both = Bytes(1, entry(Bytes(2, Bytes(3, Bytes(1, "\7\x08")))));
  EXPECT_EQ(*canonical(entry(Bytes(2, seven) + Bytes(2, eight))), both);
  EXPECT_EQ(*canonical(entry(Bytes(2, seven + eight))), both);
  EXPECT_EQ(*canonical(entry(Bytes(2, seven) + Bytes(5, "x"))), Bytes(1, entry(Bytes(2, seven))));
  EXPECT_EQ(canonical("\xff").status().code(), absl::StatusCode::kInvalidArgument);
}

// Returns how many values each feature of the list "a" has, whose bytes these are, or absl::nullopt
// for INVALID_ARGUMENT.
absl::optional<std::vector<int64_t>> CountsIn(const std::string& list) {
  const RaggedFeature feature{.key = "a", .dtype = DType::kInt64, .split_type = DType::kInt64};
  const auto parsed =
      ParseFeatureLists({.ragged = {feature}}, {Bytes(2, Bytes(1, Bytes(1, "a") + Bytes(2, list)))},
                        {}, true, HeapAllocator());
  if (!parsed.ok()) return absl::nullopt;
  const auto splits = parsed->ragged_inner_splits[0].flat<int64_t>();
  std::vector<int64_t> counts;
  for (size_t i = 1; i < splits.size(); ++i) counts.push_back(splits[i] - splits[i - 1]);
  return counts;
}

TEST(ParseExampleTest, FeatureListsAreReadListByList) {
  using Counts = std::vector<int64_t>;
  const std::string seven = Bytes(3, Bytes(1, "\7"));
  EXPECT_EQ(CountsIn(""), Counts{});
  EXPECT_EQ(CountsIn(Bytes(1, "") + Bytes(1, seven)), (Counts{0, 1}));
  EXPECT_EQ(CountsIn(Bytes(1, Bytes(3, ""))), Counts{0});
  // Bytes behind the list of a feature are the next feature.
  EXPECT_EQ(CountsIn(Bytes(1, seven + Bytes(1, seven))), (Counts{1, 1}));
  EXPECT_EQ(CountsIn(Bytes(1, seven + seven)), absl::nullopt);
  EXPECT_EQ(CountsIn(Bytes(1, Bytes(3, Bytes(1, "\7") + "\x08\1"))), absl::nullopt);
  EXPECT_EQ(CountsIn("\x10\1" + Bytes(1, seven)), absl::nullopt);
  EXPECT_EQ(CountsIn(Bytes(1, "\x1a\5")), absl::nullopt);
  EXPECT_EQ(CountsIn(Bytes(1, "\x1a")), absl::nullopt);
}

TEST(ParseExampleTest, MalformedFeatureListsThatAreNotAskedForDoNotMatter) {
  const RaggedFeature feature{.key = "a", .dtype = DType::kInt64, .split_type = DType::kInt64};
  const auto entry = [](absl::string_view key, absl::string_view list) {
    return Bytes(1, Bytes(1, key) + Bytes(2, list));
  };
  const auto is_ok = [&](const std::string& lists) {
    return ParseFeatureLists({.ragged = {feature}}, {Bytes(2, lists)}, {}, true, HeapAllocator())
        .ok();
  };
  EXPECT_TRUE(is_ok(entry("b", "\xff")));
  EXPECT_TRUE(is_ok(entry("a", "\xff") + entry("a", "")));
  EXPECT_FALSE(is_ok(entry("a", "") + entry("a", "\xff")));
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
