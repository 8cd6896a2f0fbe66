// Sparse tensors of words: each string has its own row, also those without words.
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

struct Split {
  std::vector<int64_t> indices, shape;
  std::vector<std::string> words;
};

Split SplitBy(const std::string& op, const std::vector<std::string>& texts,
              const std::string& separator, AttrMap attrs = {}) {
  const std::vector<Tensor> inputs = {Tensor::Vector<std::string>(texts),
                                      Tensor::Scalar(separator)};
  const auto outputs =
      KernelRunner::Create(op, inputs, std::move(attrs)).value().Run(inputs).value();
  const auto indices = outputs[0].flat<int64_t>();
  const auto words = outputs[1].flat<std::string>();
  const auto shape = outputs[2].flat<int64_t>();
  return {
      {indices.begin(), indices.end()}, {shape.begin(), shape.end()}, {words.begin(), words.end()}};
}

TEST(StringSplitTest, RowsOfDifferentLengths) {
  const Split split = SplitBy("StringSplitV2", {" a  bc ", "", "d"}, "");
  EXPECT_EQ(split.words, std::vector<std::string>({"a", "bc", "d"}));
  EXPECT_EQ(split.indices, std::vector<int64_t>({0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(split.shape, std::vector<int64_t>({3, 2}));
}

TEST(StringSplitTest, EmptyWordsBetweenSeparators) {
  const Split split = SplitBy("StringSplitV2", {"", "a,,b"}, ",", {{"maxsplit", 1}});
  EXPECT_EQ(split.words, std::vector<std::string>({"", "a", ",b"}));
  EXPECT_EQ(split.indices, std::vector<int64_t>({0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(split.shape, std::vector<int64_t>({2, 2}));
}

TEST(StringSplitTest, AnyOfSomeCharactersSplits) {
  const Split split = SplitBy("StringSplit", {"a-b.c", "", ".d"}, "-.", {{"skip_empty", true}});
  EXPECT_EQ(split.words, std::vector<std::string>({"a", "b", "c", "d"}));
  EXPECT_EQ(split.indices, std::vector<int64_t>({0, 0, 0, 1, 0, 2, 2, 0}));
  EXPECT_EQ(split.shape, std::vector<int64_t>({3, 3}));
}

TEST(StringSplitTest, NoStringsHaveNoWords) {
  const Split split = SplitBy("StringSplitV2", {}, ",");
  EXPECT_TRUE(split.words.empty());
  EXPECT_EQ(split.shape, std::vector<int64_t>({0, 0}));
}

}  // namespace
}  // namespace tessera
