#include "runtime/optimize/index_vector.h"

#include <algorithm>
#include <utility>

#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

using Items = std::vector<IndexItem>;

constexpr int kMaxDepth = 50;  // of expressions

class IndexReader {
 public:
  explicit IndexReader(const IndexLimit& limit_of) : limit_of_(limit_of) {}

  std::optional<Items> Read(const Endpoint& value, int depth) const {
    if (depth > kMaxDepth) return std::nullopt;
    if (const auto numbers = ConstantInts(value)) {
      if (ConstantValue(value)->rank() > 1) return std::nullopt;
      Items items;
      for (const int64_t number : *numbers) items.push_back({.base = {}, .number = number});
      return items;
    }
    const Node& node = *value.node;
    if (node.IsOp("Identity")) return Read(node.input(0), depth + 1);
    if (node.IsOp("Reshape") || node.IsOp("ExpandDims")) return ReadReshaped(node, depth);
    if (node.IsOp("ConcatV2"))
      return ReadParts(node, node.num_inputs() - 1, /*scalars=*/false, depth);
    if (node.IsOp("Pack")) return ReadParts(node, node.num_inputs(), /*scalars=*/true, depth);
    if (node.IsOp("AddV2") || node.IsOp("Add")) return Combine(node, depth, Sum);
    if (node.IsOp("Sub")) return Combine(node, depth, Difference);
    if (node.IsOp("Maximum") || node.IsOp("Minimum")) {
      const bool is_maximum = node.IsOp("Maximum");
      return Combine(node, depth, [&](const IndexItem& a, const IndexItem& b) {
        return Bounded(a, b, is_maximum);
      });
    }
    // An argument of a function that counts the steps of a loop is a scalar.
    if (limit_of_(value).has_value()) return Items{{.base = value}};
    return std::nullopt;
  }

 private:
  // A vector stays one, and one element stays alone, whatever its shape.
  std::optional<Items> ReadReshaped(const Node& node, int depth) const {
    const auto shape = node.IsOp("Reshape") ? ConstantInts(node.input(1)) : std::nullopt;
    if (auto items = Read(node.input(0), depth + 1)) {
      if (items->size() == 1 || (shape.has_value() && shape->size() == 1)) return items;
      return std::nullopt;
    }
    const bool is_one = shape.has_value() &&
                        std::all_of(shape->begin(), shape->end(), [](int64_t d) { return d == 1; });
    if (!is_one) return std::nullopt;
    Endpoint base = node.input(0);
    while (base.node->IsOp("Identity")) base = base.node->input(0);
    return Items{{.base = base}};
  }

  std::optional<Items> ReadParts(const Node& node, int parts, bool scalars, int depth) const {
    Items all;
    for (int i = 0; i < parts; ++i) {
      const auto items = Read(node.input(i), depth + 1);
      if (!items.has_value() || (scalars && items->size() != 1)) return std::nullopt;
      all.insert(all.end(), items->begin(), items->end());
    }
    return all;
  }

  template <typename Operation>
  std::optional<Items> Combine(const Node& node, int depth, const Operation& operation) const {
    const auto a = Read(node.input(0), depth + 1), b = Read(node.input(1), depth + 1);
    if (!a.has_value() || !b.has_value() || (a->size() != b->size() && b->size() != 1)) {
      return std::nullopt;
    }
    Items combined;
    for (size_t i = 0; i < a->size(); ++i) {
      const auto item = operation((*a)[i], (*b)[b->size() == 1 ? 0 : i]);
      if (!item.has_value()) return std::nullopt;
      combined.push_back(*item);
    }
    return combined;
  }

  static std::optional<IndexItem> Sum(const IndexItem& a, const IndexItem& b) {
    if (!a.is_number() && !b.is_number()) return std::nullopt;
    return IndexItem{.base = a.is_number() ? b.base : a.base, .number = a.number + b.number};
  }
  static std::optional<IndexItem> Difference(const IndexItem& a, const IndexItem& b) {
    if (a.base == b.base) return IndexItem{.base = {}, .number = a.number - b.number};
    if (!b.is_number()) return std::nullopt;
    return IndexItem{.base = a.base, .number = a.number - b.number};
  }
  // The larger or the smaller one.
  std::optional<IndexItem> Bounded(const IndexItem& a, const IndexItem& b, bool is_maximum) const {
    if (!b.is_number()) return std::nullopt;
    if (a.is_number()) {
      return IndexItem{
          .base = {},
          .number = is_maximum ? std::max(a.number, b.number) : std::min(a.number, b.number)};
    }
    const auto limit = limit_of_(a.base);
    if (!limit.has_value()) return std::nullopt;
    const bool is_within = is_maximum ? a.number >= b.number : *limit - 1 + a.number <= b.number;
    return is_within ? std::optional<IndexItem>(a) : std::nullopt;
  }

  const IndexLimit& limit_of_;
};

}  // namespace

std::optional<std::vector<IndexItem>> IndexItems(const Endpoint& value,
                                                 const IndexLimit& limit_of) {
  return IndexReader(limit_of).Read(value, 0);
}

}  // namespace tessera
