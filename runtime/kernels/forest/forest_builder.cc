#include "runtime/kernels/forest/forest_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using ygg::dataset::proto::ColumnType;
using ygg::model::decision_tree::proto::Condition;
using ygg::model::decision_tree::proto::NodeCondition;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
// Positions of nodes and numbers of leaves are 32 bits wide, those of words and tests 29.
constexpr size_t kMostNodes = std::numeric_limits<uint32_t>::max() - 2;
constexpr size_t kMostPositions = Forest::Node::kWord;

// Where the values of a column lie.
struct Place {
  enum class Kind { kNumber, kCategory, kSet };
  Kind kind;
  uint32_t position;  // of a word of the example, or of a set
  int32_t size = 0;   // the number of values of a category
  const ygg::dataset::proto::Column* column;
};

class Builder {
 public:
  Builder(const ForestFiles& files, absl::FunctionRef<absl::Status(const TreeNode&)> add_leaf)
      : files_(files), add_leaf_(add_leaf) {}

  absl::StatusOr<Forest> Build() {
    RETURN_IF_ERROR(PlaceColumns());
    ASSIGN_OR_RETURN(TreeNodeReader reader, files_.OpenNodes());
    for (int64_t i = 0; i < files_.num_trees(); ++i) {
      RETURN_IF_ERROR(Annotate(AddTree(reader), absl::StrCat("tree ", i, ": ")));
    }
    ASSIGN_OR_RETURN(const bool has_more, reader.Next(&node_));
    if (has_more) {
      return absl::DataLossError(
          absl::StrCat("there are nodes after those of ", files_.num_trees(), " trees"));
    }
    return std::move(forest_);
  }

 private:
  // Columns come in the order of the data specification, by kind.
  absl::Status PlaceColumns() {
    std::vector<int> features(files_.model.input_features().begin(),
                              files_.model.input_features().end());
    std::sort(features.begin(), features.end());
    ForestColumns& columns = forest_.columns;
    for (const int i : features) {
      if (i < 0 || i >= files_.data.columns_size()) {
        return absl::DataLossError(absl::StrCat("input feature ", i, " is none of the ",
                                                files_.data.columns_size(), " columns"));
      }
      const auto& column = files_.data.columns(i);
      Place place{.kind = Place::Kind::kNumber, .position = 0, .column = &column};
      switch (column.type()) {
        case ColumnType::NUMERICAL:
        case ColumnType::DISCRETIZED_NUMERICAL:
          place.position = static_cast<uint32_t>(columns.num_numbers++);
          break;
        case ColumnType::BOOLEAN:
          place.position = static_cast<uint32_t>(columns.num_booleans++);
          break;
        case ColumnType::CATEGORICAL: {
          ASSIGN_OR_RETURN(place.size, SizeOf(column));
          place.kind = Place::Kind::kCategory;
          place.position = static_cast<uint32_t>(columns.category_sizes.size());
          columns.category_sizes.push_back(place.size);
          break;
        }
        case ColumnType::CATEGORICAL_SET: {
          ASSIGN_OR_RETURN(place.size, SizeOf(column));
          place.kind = Place::Kind::kSet;
          place.position = static_cast<uint32_t>(columns.set_sizes.size());
          columns.set_sizes.push_back(place.size);
          break;
        }
        default:
          return absl::UnimplementedError(
              absl::StrCat("column '", column.name(), "' is of type ",
                           ygg::dataset::proto::ColumnType_Name(column.type()),
                           "; there are numbers, booleans, categories and sets of them"));
      }
      if (!places_.emplace(i, place).second) {
        return absl::DataLossError(absl::StrCat("column '", column.name(), "' is twice an input"));
      }
    }
    for (auto& [i, place] : places_) {
      if (place.kind == Place::Kind::kCategory) {
        place.position += static_cast<uint32_t>(columns.num_numbers + columns.num_booleans);
      } else if (place.column->type() == ColumnType::BOOLEAN) {
        place.position += static_cast<uint32_t>(columns.num_numbers);
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<int32_t> SizeOf(const ygg::dataset::proto::Column& column) {
    const int64_t size = column.categorical().number_of_unique_values();
    if (size < 0 || size >= std::numeric_limits<int32_t>::max()) {
      return absl::DataLossError(
          absl::StrCat("column '", column.name(), "' has ", size, " values"));
    }
    return static_cast<int32_t>(size);
  }

  absl::Status AddTree(TreeNodeReader& reader) {
    struct Open {
      uint32_t position, depth;
    };
    Forest::Tree tree;
    tree.first_leaf = forest_.num_leaves;
    ASSIGN_OR_RETURN(tree.root, AddNodes(1));
    std::vector<Open> open = {{tree.root, 0}};
    while (!open.empty()) {
      const auto [position, depth] = open.back();
      open.pop_back();
      ASSIGN_OR_RETURN(const bool has_node, reader.Next(&node_));
      if (!has_node) return absl::DataLossError("its last nodes are missing");
      Forest::Node node;
      if (node_.has_condition()) {
        ASSIGN_OR_RETURN(node.child, AddNodes(2));
        open.push_back({node.child + 1, depth + 1});
        open.push_back({node.child, depth + 1});
        RETURN_IF_ERROR(Ask(node_.condition(), &node));
        tree.has_categories =
            tree.has_categories || (node.question & Forest::Node::kIsCategory) != 0;
        tree.has_tests = tree.has_tests || (node.question & Forest::Node::kIsTest) != 0;
      } else {
        RETURN_IF_ERROR(add_leaf_(node_));
        node.threshold = kNaN;
        node.bits_or_leaf = forest_.num_leaves++;
        node.child = position;
        tree.depth = std::max(tree.depth, depth);
      }
      forest_.nodes[position] = node;
    }
    forest_.trees.push_back(tree);
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> AddNodes(size_t count) {
    const size_t position = forest_.nodes.size();
    if (position + count > kMostNodes) {
      return absl::UnimplementedError(absl::StrCat("more than ", kMostNodes, " nodes"));
    }
    forest_.nodes.resize(position + count);
    return static_cast<uint32_t>(position);
  }

  absl::Status Ask(const NodeCondition& asked, Forest::Node* node) {
    const Condition& condition = asked.condition();
    if (condition.type_case() == Condition::kObliqueCondition) {
      return AskOblique(asked.na_value(), condition.oblique_condition(), node);
    }
    const auto found = places_.find(asked.attribute());
    if (found == places_.end()) {
      return absl::DataLossError(absl::StrCat("a node asks for column ", asked.attribute(),
                                              ", which is no input feature"));
    }
    const Place& place = found->second;
    switch (condition.type_case()) {
      case Condition::kNaCondition:
        return AskWhetherMissing(place, node);
      case Condition::kHigherCondition:
        return AskNumber(place, condition.higher_condition().threshold(), asked.na_value(), node);
      case Condition::kTrueValueCondition:
        return AskNumber(place, 0.5f, asked.na_value(), node);
      case Condition::kDiscretizedHigherCondition:
        return AskNumber(place,
                         BoundaryOf(place, condition.discretized_higher_condition().threshold()),
                         asked.na_value(), node);
      case Condition::kContainsCondition: {
        const auto& elements = condition.contains_condition().elements();
        return AskCategory(place, {elements.begin(), elements.end()}, asked.na_value(), node);
      }
      case Condition::kContainsBitmapCondition:
        return AskCategory(place,
                           ElementsOf(condition.contains_bitmap_condition().elements_bitmap()),
                           asked.na_value(), node);
      case Condition::kNumericalVectorSequence:
        return absl::UnimplementedError("a node asks for a sequence of vectors");
      default:
        return absl::DataLossError("a node asks nothing that is known");
    }
  }

  // Returns the number from which on the bin is at least `bin`.
  static float BoundaryOf(const Place& place, int32_t bin) {
    const auto& boundaries = place.column->discretized_numerical().boundaries();
    if (bin <= 0) return -std::numeric_limits<float>::infinity();
    return bin <= boundaries.size() ? boundaries[bin - 1] : kNaN;
  }

  absl::Status AskNumber(const Place& place, float threshold, bool missing_is_yes,
                         Forest::Node* node) {
    RETURN_IF_ERROR(CheckKind(place, Place::Kind::kNumber));
    node->question = place.position | (missing_is_yes ? Forest::Node::kMissingIsYes : 0);
    node->threshold = threshold;
    return absl::OkStatus();
  }

  absl::Status AskWhetherMissing(const Place& place, Forest::Node* node) {
    switch (place.kind) {
      case Place::Kind::kNumber:
        return AskNumber(place, kNaN, true, node);
      case Place::Kind::kCategory:
        return AskTest({.kind = Forest::Test::Kind::kCategoryIsMissing, .column = place.position},
                       node);
      case Place::Kind::kSet:
        break;
    }
    return AskTest({.kind = Forest::Test::Kind::kSetIsMissing, .column = place.position}, node);
  }

  static std::vector<int32_t> ElementsOf(const std::string& bitmap) {
    std::vector<int32_t> elements;
    for (size_t i = 0; i < bitmap.size() * 8; ++i) {
      if ((static_cast<uint8_t>(bitmap[i / 8]) >> (i % 8) & 1) != 0) {
        elements.push_back(static_cast<int32_t>(i));
      }
    }
    return elements;
  }

  // Asks whether a category, or one of a set, is among the elements.
  absl::Status AskCategory(const Place& place, std::vector<int32_t> elements, bool missing_is_yes,
                           Forest::Node* node) {
    if (place.kind == Place::Kind::kNumber) return CheckKind(place, Place::Kind::kCategory);
    std::sort(elements.begin(), elements.end());
    if (!elements.empty() && (elements.front() < 0 || elements.back() >= place.size)) {
      return absl::DataLossError(absl::StrCat("a node asks column '", place.column->name(),
                                              "' for a value that is not below ", place.size));
    }
    const bool is_set = place.kind == Place::Kind::kSet;
    using Kind = Forest::Test::Kind;
    Forest::Test test{.kind = is_set ? Kind::kSetElements : Kind::kCategoryElements,
                      .missing_is_yes = missing_is_yes,
                      .column = place.position};
    // Bits take memory by the number of values, which must not grow far beyond what the file has.
    const size_t num_words = static_cast<size_t>(place.size) / 32 + 1;
    if (num_words > 64 + elements.size()) {
      RETURN_IF_ERROR(Append(elements, &forest_.elements, &test));
      return AskTest(test, node);
    }
    // The bit of a category is its word in the example: its value plus one, 0 if it is missing.
    const int32_t offset = is_set ? 0 : 1;
    std::vector<uint32_t> bits(num_words);
    for (const int32_t element : elements) {
      const auto bit = static_cast<uint32_t>(element + offset);
      bits[bit / 32] |= 1u << bit % 32;
    }
    if (!is_set && missing_is_yes) bits[0] |= 1;
    RETURN_IF_ERROR(Append(bits, &forest_.bits, &test));
    if (is_set) {
      test.kind = Kind::kSetBits;
      return AskTest(test, node);
    }
    node->question = place.position | Forest::Node::kIsCategory;
    node->threshold = kNaN;
    node->bits_or_leaf = test.begin;
    return absl::OkStatus();
  }

  absl::Status AskOblique(bool missing_is_yes, const Condition::Oblique& oblique,
                          Forest::Node* node) {
    const int size = oblique.attributes_size();
    const bool replaces = oblique.na_replacements_size() > 0;
    if (oblique.weights_size() != size || (replaces && oblique.na_replacements_size() != size)) {
      return absl::DataLossError(absl::StrCat("an oblique node has ", size, " attributes, ",
                                              oblique.weights_size(), " weights and ",
                                              oblique.na_replacements_size(), " replacements"));
    }
    std::vector<Forest::Term> terms;
    for (int i = 0; i < size; ++i) {
      const auto found = places_.find(oblique.attributes(i));
      if (found == places_.end()) {
        return absl::DataLossError(absl::StrCat("an oblique node asks for column ",
                                                oblique.attributes(i),
                                                ", which is no input feature"));
      }
      RETURN_IF_ERROR(CheckKind(found->second, Place::Kind::kNumber));
      terms.push_back({.word = found->second.position,
                       .weight = oblique.weights(i),
                       .replacement = replaces ? oblique.na_replacements(i) : 0});
    }
    Forest::Test test{.kind = Forest::Test::Kind::kObliqueNumbers,
                      .missing_is_yes = missing_is_yes,
                      .replaces_missing = replaces,
                      .threshold = oblique.threshold()};
    RETURN_IF_ERROR(Append(terms, &forest_.terms, &test));
    return AskTest(test, node);
  }

  static absl::Status CheckKind(const Place& place, Place::Kind kind) {
    if (place.kind == kind) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("a node asks column '", place.column->name(), "' of type ",
                     ygg::dataset::proto::ColumnType_Name(place.column->type()),
                     kind == Place::Kind::kNumber ? " for a number" : " for a category"));
  }

  // Adds `from` to what nodes refer to, and tells the test where it lies.
  template <typename T>
  static absl::Status Append(const std::vector<T>& from, std::vector<T>* to, Forest::Test* test) {
    if (to->size() + from.size() > std::numeric_limits<uint32_t>::max()) {
      return absl::UnimplementedError("questions of more than 2^32 words");
    }
    test->begin = static_cast<uint32_t>(to->size());
    to->insert(to->end(), from.begin(), from.end());
    test->end = static_cast<uint32_t>(to->size());
    return absl::OkStatus();
  }

  absl::Status AskTest(const Forest::Test& test, Forest::Node* node) {
    if (forest_.tests.size() > kMostPositions) {
      return absl::UnimplementedError(
          absl::StrCat("more than ", kMostPositions, " questions of several words"));
    }
    node->question = static_cast<uint32_t>(forest_.tests.size()) | Forest::Node::kIsTest;
    node->threshold = kNaN;
    forest_.tests.push_back(test);
    return absl::OkStatus();
  }

  const ForestFiles& files_;
  const absl::FunctionRef<absl::Status(const TreeNode&)> add_leaf_;
  absl::flat_hash_map<int, Place> places_;
  TreeNode node_;
  Forest forest_;
};

}  // namespace

absl::StatusOr<Forest> BuildForest(const ForestFiles& files,
                                   absl::FunctionRef<absl::Status(const TreeNode& leaf)> add_leaf) {
  return Builder(files, add_leaf).Build();
}

}  // namespace tessera
