// A trie in a double array, in the format of the library Darts-clone.
//
// J. Aoe, An Efficient Digital Search Algorithm by Using a Double-Array Structure, IEEE
// Transactions on Software Engineering 15, 1989.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "runtime/kernels/text/flat_table.h"

namespace tessera {

// A unit is a node: its label in bits 0 to 7, whether it has a value in bit 8, and in the others
// how far its children lie from it. A value is a unit with the highest bit set.
// Steps out of the array lead nowhere, so that a damaged one does no harm.
class DoubleArrayTrie {
 public:
  static constexpr uint32_t kRoot = 0;

  explicit DoubleArrayTrie(const FlatVector<uint32_t>& units) : units_(units) {}

  // The child of `node` by this byte; none if there is none.
  std::optional<uint32_t> Child(uint32_t node, uint8_t label) const {
    if (node >= units_.size) return std::nullopt;
    const uint32_t child = node ^ Offset(units_[node]) ^ label;
    if (child >= units_.size || (units_[child] & 0x800000ff) != label) return std::nullopt;
    return child;
  }

  // The value of `node`; none if it has none.
  std::optional<uint32_t> Value(uint32_t node) const {
    if (node >= units_.size || (units_[node] & 0x100) == 0) return std::nullopt;
    const uint32_t leaf = node ^ Offset(units_[node]);
    if (leaf >= units_.size) return std::nullopt;
    return units_[leaf] & 0x7fffffff;
  }

  // Calls visit(length, value) for each beginning of the text that has a value, the shortest first.
  template <typename Visit>
  void VisitPrefixes(absl::string_view text, Visit&& visit) const {
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size(); ++i) {
      const std::optional<uint32_t> child = Child(node, static_cast<uint8_t>(text[i]));
      if (!child.has_value()) return;
      node = *child;
      const std::optional<uint32_t> value = Value(node);
      if (value.has_value()) visit(i + 1, *value);
    }
  }

 private:
  static uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

  const FlatVector<uint32_t> units_;
};

}  // namespace tessera
