// Decision trees in a compact form, and the leaves that examples reach in them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

// The columns that a forest takes: how many there are of each kind, and how many values a category
// or the members of a set can have. A value beyond them counts as 0, which stands for all unknown
// ones.
struct ForestColumns {
  int num_numbers = 0, num_booleans = 0;
  std::vector<int32_t> category_sizes, set_sizes;

  // The words of an example: its numbers, its booleans, and its categories.
  int num_words() const {
    return num_numbers + num_booleans + static_cast<int>(category_sizes.size());
  }
};

// The examples of a call. Each span holds a column of the same kind after the other, example by
// example.
struct ForestInputs {
  absl::Span<const float> numbers, booleans;  // NaN: missing
  absl::Span<const int32_t> categories;       // -1: missing
  // Set k holds the values [set_splits[k], set_splits[k + 1]); it is missing if the first is -1.
  absl::Span<const int32_t> set_values;
  absl::Span<const int64_t> set_splits;
};

// The trees of a model. Thread-safe once it is built.
//
// All nodes are in one array. The children of a node are neighbours, the negative one first, so
// that a node's answer is added to the position of its first child. A leaf is its own child and
// answers no. Most nodes compare a number or look up the bit of a category, which takes no branch:
// several pairs of a tree and an example go down side by side.
struct Forest {
  struct Node {
    // Flags of `question`.
    static constexpr uint32_t kMissingIsYes = 1u << 31;  // of a number
    static constexpr uint32_t kIsCategory = 1u << 30;
    static constexpr uint32_t kIsTest = 1u << 29;
    static constexpr uint32_t kWord = kIsTest - 1;

    // The position of a word among those of an example or, with kIsTest, of a test among `tests`.
    uint32_t question = 0;
    // A number is asked whether it is at least this. NaN, which no number is, for all else.
    float threshold = 0;
    // The first word of the bits of a category, in `bits`. In a leaf, its number.
    uint32_t bits_or_leaf = 0;
    // The position of the negative child.
    uint32_t child = 0;
  };

  // A question that takes more than one word to answer.
  struct Test {
    enum class Kind {
      kObliqueNumbers,  // is a weighted sum at least `threshold`?
      kCategoryElements,
      kSetElements,  // is a category, or one of a set, among the elements?
      kSetBits,      // the same, by bits
      kCategoryIsMissing,
      kSetIsMissing,
    };
    Kind kind = Kind::kObliqueNumbers;
    bool missing_is_yes = false;
    bool replaces_missing = false;  // an oblique test that has a number for each missing one
    float threshold = 0;
    uint32_t column = 0;  // the word of a category, or the position of a set
    // A range of `terms`, of `elements`, which ascend in it, or of `bits`.
    uint32_t begin = 0, end = 0;
  };
  struct Term {
    uint32_t word;
    float weight, replacement;
  };

  struct Tree {
    uint32_t root = 0;
    uint32_t first_leaf = 0;
    uint32_t depth = 0;  // the most questions on a way to a leaf
    bool has_categories = false, has_tests = false;
  };

  // Examples that FindLeaves() takes at once: their words stay in the first cache.
  static constexpr int64_t kBlock = 64;

  // Writes the leaves that examples [begin, end) reach, numbered through all trees: `leaves` has a
  // row for each of them and a column for each tree.
  void FindLeaves(const ForestInputs& inputs, int64_t begin, int64_t end, uint32_t* leaves) const;
  // About how many nanoseconds an example takes.
  double CostOfExample() const;

  ForestColumns columns;
  std::vector<Node> nodes;
  std::vector<Tree> trees;
  // The bit sets that nodes refer to. The first word of `bits` is for nodes that look up none.
  std::vector<uint32_t> bits{0};
  std::vector<Test> tests;
  std::vector<Term> terms;
  std::vector<int32_t> elements;
  uint32_t num_leaves = 0;
};

}  // namespace tessera
