#include "runtime/kernels/forest/forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tessera {
namespace {

using Node = Forest::Node;
using Test = Forest::Test;
using Tree = Forest::Tree;

// Pairs of a tree and an example that go down side by side: enough to hide the latency of the loads
// that each step waits for.
constexpr int kLanes = 8;
// Steps before the lanes are asked whether all of them have come to a leaf.
constexpr uint32_t kStepsUnasked = 4;

int32_t KnownValue(int32_t value, int32_t size) { return value >= 0 && value < size ? value : 0; }

// The words of one or more examples: numbers and booleans as they stand, categories plus one, so
// that a missing one is 0.
class Words {
 public:
  Words(const ForestColumns& columns, const ForestInputs& inputs, int64_t begin, int64_t end)
      : stride_(std::max(columns.num_words(), 1)),
        words_(static_cast<size_t>((end - begin) * stride_)) {
    const auto num_categories = static_cast<int64_t>(columns.category_sizes.size());
    for (int64_t i = begin; i < end; ++i) {
      uint32_t* word = words_.data() + (i - begin) * stride_;
      const auto add = [&](float number) {
        has_missing_ = has_missing_ || std::isnan(number);
        *word++ = std::bit_cast<uint32_t>(number);
      };
      for (int64_t k = 0; k < columns.num_numbers; ++k) {
        add(inputs.numbers[i * columns.num_numbers + k]);
      }
      for (int64_t k = 0; k < columns.num_booleans; ++k) {
        const float truth = inputs.booleans[i * columns.num_booleans + k];
        add(std::isnan(truth) || truth == 0 ? truth : 1);
      }
      for (int64_t k = 0; k < num_categories; ++k) {
        const int32_t value = inputs.categories[i * num_categories + k];
        const int32_t known = value == -1 ? -1 : KnownValue(value, columns.category_sizes[k]);
        *word++ = static_cast<uint32_t>(known + 1);
      }
    }
  }

  const uint32_t* of(int64_t i) const { return words_.data() + i * stride_; }
  // Whether a number or a boolean is missing.
  bool has_missing() const { return has_missing_; }

 private:
  const int64_t stride_;
  std::vector<uint32_t> words_;
  bool has_missing_ = false;
};

struct Lanes {
  std::array<uint32_t, kLanes> at;            // positions of nodes
  std::array<const uint32_t*, kLanes> words;  // of examples
};

// Takes all lanes to leaves. No node on their ways has a test.
template <bool kHasCategories, bool kHasMissing>
void Descend(const Forest& forest, uint32_t depth, Lanes* lanes) {
  const Node* const nodes = forest.nodes.data();
  const uint32_t* const bits = forest.bits.data();
  for (uint32_t step = 0; step < depth; ++step) {
    uint32_t moved = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Node node = nodes[lanes->at[lane]];
      const uint32_t word = lanes->words[lane][node.question & Node::kWord];
      const auto number = std::bit_cast<float>(word);
      uint32_t is_yes = number >= node.threshold ? 1 : 0;
      if constexpr (kHasMissing) {
        is_yes |= (node.question >> 31) & (number != number ? 1u : 0u);
      }
      if constexpr (kHasCategories) {
        const uint32_t mask = (node.question & Node::kIsCategory) != 0 ? ~0u : 0u;
        is_yes |= bits[(node.bits_or_leaf + (word >> 5)) & mask] >> (word & 31) & 1;
      }
      const uint32_t next = node.child + is_yes;
      moved |= next ^ lanes->at[lane];
      lanes->at[lane] = next;
    }
    if (step >= kStepsUnasked && moved == 0) return;
  }
}

using DescendFunction = void (*)(const Forest&, uint32_t, Lanes*);
DescendFunction DescendFor(bool has_categories, bool has_missing) {
  if (has_categories) return has_missing ? &Descend<true, true> : &Descend<true, false>;
  return has_missing ? &Descend<false, true> : &Descend<false, false>;
}

// Takes one example down a tree, whatever its nodes ask.
class Walker {
 public:
  Walker(const Forest& forest, const ForestInputs& inputs, int64_t example, const uint32_t* words)
      : forest_(forest),
        inputs_(inputs),
        first_set_(example * static_cast<int64_t>(forest.columns.set_sizes.size())),
        words_(words) {}

  const Node& LeafOf(const Tree& tree) const {
    uint32_t at = tree.root;
    while (true) {
      const Node& node = forest_.nodes[at];
      const uint32_t next = node.child + (Answer(node) ? 1 : 0);
      if (next == at) return node;
      at = next;
    }
  }

 private:
  bool Answer(const Node& node) const {
    const uint32_t position = node.question & Node::kWord;
    if ((node.question & Node::kIsTest) != 0) return Answer(forest_.tests[position]);
    if ((node.question & Node::kIsCategory) != 0)
      return HasBit(node.bits_or_leaf, words_[position]);
    const auto number = std::bit_cast<float>(words_[position]);
    return number >= node.threshold ||
           ((node.question & Node::kMissingIsYes) != 0 && std::isnan(number));
  }

  bool Answer(const Test& test) const {
    switch (test.kind) {
      case Test::Kind::kObliqueNumbers:
        return AnswerOblique(test);
      case Test::Kind::kCategoryIsMissing:
        return words_[test.column] == 0;
      case Test::Kind::kCategoryElements: {
        const uint32_t word = words_[test.column];
        return word == 0 ? test.missing_is_yes : HasElement(test, static_cast<int32_t>(word) - 1);
      }
      case Test::Kind::kSetIsMissing:
        return IsMissing(SetAt(test.column));
      case Test::Kind::kSetElements:
      case Test::Kind::kSetBits:
        return AnswerSet(test);
    }
    return false;
  }

  bool AnswerOblique(const Test& test) const {
    float sum = 0;
    for (uint32_t i = test.begin; i < test.end; ++i) {
      const Forest::Term& term = forest_.terms[i];
      auto number = std::bit_cast<float>(words_[term.word]);
      if (std::isnan(number)) {
        if (!test.replaces_missing) return test.missing_is_yes;
        number = term.replacement;
      }
      sum += number * term.weight;
    }
    return sum >= test.threshold;
  }

  bool AnswerSet(const Test& test) const {
    const absl::Span<const int32_t> set = SetAt(test.column);
    if (IsMissing(set)) return test.missing_is_yes;
    const int32_t size = forest_.columns.set_sizes[test.column];
    return std::any_of(set.begin(), set.end(), [&](int32_t value) {
      const int32_t known = KnownValue(value, size);
      return test.kind == Test::Kind::kSetBits ? HasBit(test.begin, static_cast<uint32_t>(known))
                                               : HasElement(test, known);
    });
  }

  absl::Span<const int32_t> SetAt(uint32_t column) const {
    const int64_t* const split = inputs_.set_splits.data() + first_set_ + column;
    return inputs_.set_values.subspan(static_cast<size_t>(split[0]),
                                      static_cast<size_t>(split[1] - split[0]));
  }
  static bool IsMissing(absl::Span<const int32_t> set) { return !set.empty() && set[0] == -1; }
  bool HasBit(uint32_t first_word, uint32_t bit) const {
    return (forest_.bits[first_word + (bit >> 5)] >> (bit & 31) & 1) != 0;
  }
  bool HasElement(const Test& test, int32_t value) const {
    return std::binary_search(forest_.elements.begin() + test.begin,
                              forest_.elements.begin() + test.end, value);
  }

  const Forest& forest_;
  const ForestInputs& inputs_;
  const int64_t first_set_;
  const uint32_t* const words_;
};

// Goes through the pairs of trees and examples in groups of lanes.
class Search {
 public:
  Search(const Forest& forest, const Words& words, int64_t count, uint32_t* leaves)
      : forest_(forest), words_(words), count_(count), leaves_(leaves) {}

  // Lanes are examples: the nodes of one tree stay in the cache.
  void GoDownWithManyExamples() {
    for (size_t t = 0; t < forest_.trees.size(); ++t) {
      if (forest_.trees[t].has_tests) continue;
      for (int64_t i = 0; i < count_; ++i) Add(t, i);
      Flush();
    }
  }
  // Lanes are trees, since there are few examples.
  void GoDownManyTrees() {
    for (int64_t i = 0; i < count_; ++i) {
      for (size_t t = 0; t < forest_.trees.size(); ++t) {
        if (!forest_.trees[t].has_tests) Add(t, i);
      }
    }
    Flush();
  }

 private:
  void Add(size_t t, int64_t example) {
    const Tree& tree = forest_.trees[t];
    lanes_.at[size_] = tree.root;
    lanes_.words[size_] = words_.of(example);
    to_[size_] = leaves_ + example * static_cast<int64_t>(forest_.trees.size()) + t;
    depth_ = std::max(depth_, tree.depth);
    has_categories_ = has_categories_ || tree.has_categories;
    if (++size_ == kLanes) Flush();
  }

  void Flush() {
    if (size_ == 0) return;
    for (int lane = size_; lane < kLanes; ++lane) {
      lanes_.at[lane] = lanes_.at[0];
      lanes_.words[lane] = lanes_.words[0];
    }
    DescendFor(has_categories_, words_.has_missing())(forest_, depth_, &lanes_);
    for (int lane = 0; lane < size_; ++lane) {
      *to_[lane] = forest_.nodes[lanes_.at[lane]].bits_or_leaf;
    }
    size_ = 0;
    depth_ = 0;
    has_categories_ = false;
  }

  const Forest& forest_;
  const Words& words_;
  const int64_t count_;
  uint32_t* const leaves_;
  Lanes lanes_;
  std::array<uint32_t*, kLanes> to_;
  int size_ = 0;
  uint32_t depth_ = 0;
  bool has_categories_ = false;
};

}  // namespace

void Forest::FindLeaves(const ForestInputs& inputs, int64_t begin, int64_t end,
                        uint32_t* leaves) const {
  const auto num_trees = static_cast<int64_t>(trees.size());
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t last = std::min(first + kBlock, end);
    uint32_t* const rows = leaves + (first - begin) * num_trees;
    const Words words(columns, inputs, first, last);
    Search search(*this, words, last - first, rows);
    if (last - first >= kLanes) {
      search.GoDownWithManyExamples();
    } else {
      search.GoDownManyTrees();
    }
    for (int64_t i = first; i < last; ++i) {
      const Walker walker(*this, inputs, i, words.of(i - first));
      for (int64_t t = 0; t < num_trees; ++t) {
        if (!trees[t].has_tests) continue;
        rows[(i - first) * num_trees + t] = walker.LeafOf(trees[t]).bits_or_leaf;
      }
    }
  }
}

double Forest::CostOfExample() const {
  double cost = 10;
  for (const Tree& tree : trees) cost += (tree.has_tests ? 5.0 : 1.0) * (1.0 + tree.depth);
  return cost;
}

}  // namespace tessera
