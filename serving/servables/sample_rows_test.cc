#include "serving/servables/sample_rows.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kManyBytes = 1 << 20;

SampleRequest Sample(std::vector<Tensor> inputs, std::vector<std::string> output_filter = {}) {
  SampleRequest request{.signature_name = "s",
                        .inputs = std::move(inputs),
                        .output_filter = std::move(output_filter)};
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    request.input_names.push_back(std::string(1, static_cast<char>('a' + i)));
  }
  return request;
}

std::vector<SampleRequest> AtRows(absl::Span<const SampleRequest> samples,
                                  absl::Span<const int64_t> rows, int64_t max_bytes) {
  std::vector<SampleRequest> requests;
  ForEachAtRows(samples, rows, max_bytes,
                [&](const SampleRequest& request) { requests.push_back(request); });
  return requests;
}

TEST(AtRowsTest, RowsAreCutOrFilledUpWithTheFirst) {
  const SampleRequest sample =
      Sample({Tensor::Of<float>({2, 2}, {1, 2, 3, 4}), Tensor::Vector<std::string>({"one", "two"})},
             {"y"});
  const auto requests = AtRows({&sample, 1}, {1, 3}, kManyBytes);
  ASSERT_EQ(requests.size(), 2);
  EXPECT_EQ(requests[0].signature_name, "s");
  EXPECT_THAT(requests[0].input_names, ElementsAre("a", "b"));
  EXPECT_THAT(requests[0].output_filter, ElementsAre("y"));
  EXPECT_EQ(requests[0].inputs[0].ToString(), "float[1,2] [[1 2]]");
  EXPECT_EQ(requests[1].inputs[0].ToString(), "float[3,2] [[1 2] [3 4] [1 2]]");
  EXPECT_EQ(requests[1].inputs[1].ToString(), "string[3] [\"one\" \"two\" \"one\"]");
}

TEST(AtRowsTest, WhatWasAskedAlreadyIsLeftOut) {
  const std::vector<SampleRequest> samples = {
      Sample({Tensor::Vector<float>({1, 2})}), Sample({Tensor::Vector<float>({7})}),
      Sample({Tensor::Vector<float>({8})}, {"y"}), Sample({Tensor::Of<float>({1, 1}, {9})})};
  std::vector<std::string> asked;
  for (const SampleRequest& request : AtRows(samples, {1, 2, 4}, kManyBytes)) {
    asked.push_back(request.inputs[0].ToString());
  }
  // The first two are of one kind; another output or another shape makes another.
  EXPECT_THAT(asked, ElementsAre("float[2] [8 8]", "float[2,1] [[9] [9]]", "float[4] [1 2 1 1]",
                                 "float[4] [8 8 8 8]", "float[4,1] [[9] [9] [9] [9]]"));
}

TEST(AtRowsTest, WhatCannotBeBatchedIsLeftOut) {
  const std::vector<SampleRequest> samples = {
      Sample({Tensor::Scalar(1.0f)}), Sample({Tensor::Of<float>({0}, {})}),
      Sample({Tensor::Vector<float>({1}), Tensor::Vector<float>({1, 2})}), Sample({})};
  EXPECT_THAT(AtRows(samples, {1, 2}, kManyBytes), IsEmpty());
}

TEST(AtRowsTest, LargeInputsAreLeftOut) {
  const SampleRequest sample = Sample({Tensor::Vector<float>({1})});
  EXPECT_EQ(AtRows({&sample, 1}, {2, 3}, 8).size(), 1);
}

}  // namespace
}  // namespace tessera::serving
