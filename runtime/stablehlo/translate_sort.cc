// Sorting by comparators.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/stablehlo/elementwise.h"

namespace tessera::stablehlo {
namespace {

bool AreEqual(const Attribute& a, const Attribute& b);

bool AreEqual(const AttributePtr& a, const AttributePtr& b) { return a == b || AreEqual(*a, *b); }

// False for lists, which no element-wise op has.
bool AreEqual(const Attribute& a, const Attribute& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const auto* x = a.get<Tensor>()) {
    const Tensor& y = *b.get<Tensor>();
    return x->dtype() == y.dtype() && x->shape() == y.shape() && IsTriviallyCopyable(x->dtype()) &&
           x->num_elements() > 0 && std::memcmp(x->raw(), y.raw(), x->size_bytes()) == 0;
  }
  if (const auto* x = a.get<int64_t>()) return *x == *b.get<int64_t>();
  if (const auto* x = a.get<bool>()) return *x == *b.get<bool>();
  if (const auto* x = a.get<double>()) return *x == *b.get<double>();
  if (const auto* x = a.get<std::string>()) return *x == *b.get<std::string>();
  return std::holds_alternative<std::monostate>(a.value);
}

// Says of a comparator, whose arguments are an element and another one of each operand in turn,
// whether one of its values is to the first elements what another is to the others.
class Mirror {
 public:
  explicit Mirror(const Region& comparator) {
    for (size_t i = 0; i < comparator.arguments.size(); ++i) {
      arguments_[comparator.arguments[i]] = i;
    }
    for (const Operation& op : comparator.operations) {
      for (ValueId result : op.results) makers_[result] = &op;
    }
  }

  const Operation* MakerOf(ValueId value) const {
    const auto maker = makers_.find(value);
    return maker == makers_.end() ? nullptr : maker->second;
  }

  bool Reflects(ValueId first, ValueId other) {
    const auto argument = arguments_.find(first);
    if (argument != arguments_.end()) {
      const auto others = arguments_.find(other);
      return others != arguments_.end() && argument->second % 2 == 0 &&
             others->second == argument->second + 1;
    }
    const Operation* const a = MakerOf(first);
    const Operation* const b = MakerOf(other);
    if (a == nullptr || b == nullptr) return first == other;  // values from outside
    if (a->name != b->name || a->operands.size() != b->operands.size() || !a->regions.empty() ||
        a->results.size() != 1 || b->results.size() != 1 ||
        a->attributes.size() != b->attributes.size()) {
      return false;
    }
    if (known_.contains({first, other})) return true;
    for (size_t i = 0; i < a->attributes.size(); ++i) {
      if (a->attributes[i].first != b->attributes[i].first ||
          !AreEqual(a->attributes[i].second, b->attributes[i].second)) {
        return false;
      }
    }
    for (size_t i = 0; i < a->operands.size(); ++i) {
      if (!Reflects(a->operands[i], b->operands[i])) return false;
    }
    known_.insert({first, other});
    return true;
  }

 private:
  absl::flat_hash_map<ValueId, size_t> arguments_;
  absl::flat_hash_map<ValueId, const Operation*> makers_;
  absl::flat_hash_set<std::pair<ValueId, ValueId>> known_;
};

// The key by which elements are sorted, where a comparator compares those of two elements.
struct SortKey {
  ValueId of_first;
  bool is_total = false;  // in the total order of floats
  bool is_descending = false;
};

std::optional<SortKey> KeyOf(Translator& t, const Region& comparator) {
  // Longer ones are no comparisons of keys, and would nest deeply.
  constexpr size_t kMaxOperations = 100;
  if (comparator.operations.size() > kMaxOperations || comparator.operations.empty()) return {};
  const Operation& last = comparator.operations.back();
  Mirror mirror(comparator);
  const Operation* const comparison = last.name == "return" && last.operands.size() == 1
                                          ? mirror.MakerOf(last.operands[0])
                                          : nullptr;
  if (comparison == nullptr || comparison->name != "compare" || comparison->operands.size() != 2) {
    return {};
  }
  const int64_t direction = t.IntAttr(*comparison, "comparison_direction");
  const bool is_strict = direction == kLess || direction == kGreater;
  const DType dtype = t.type(comparison->operands[0]).dtype;
  if (!is_strict || !(IsInteger(dtype) || IsFloating(dtype) || dtype == DType::kBool) ||
      !mirror.Reflects(comparison->operands[0], comparison->operands[1])) {
    return {};
  }
  return SortKey{.of_first = comparison->operands[0],
                 .is_total = t.IntAttr(*comparison, "compare_type") == kTotalOrder,
                 .is_descending = direction == kGreater};
}

// The keys of all elements, computed by the part of the comparator that computes one.
Expr KeysOf(Translator& t, const Operation& op, const SortKey& key) {
  Region part = op.regions[0];
  part.operations.back().operands = {key.of_first};
  std::vector<Expr> inputs;
  std::vector<DType> types;
  for (ValueId id : op.operands) {
    inputs.insert(inputs.end(), 2, t.Full(id));
    types.insert(types.end(), 2, t.type(id).dtype);
  }
  const DType dtype = t.type(key.of_first).dtype;
  const FunctionRef function = {.name = t.AddFunction(part, {}), .attrs = {}};
  const Expr keys = t.build().Output(
      t.build().AddNode("PartitionedCall", inputs,
                        {{"Tin", types}, {"Tout", std::vector<DType>{dtype}}, {"f", function}}));
  if (!IsFloating(dtype)) return keys;
  // Other comparisons of floats take the zeros for one.
  return key.is_total ? KeyOfTotalOrder(keys) : keys + t.build().Scalar(dtype, 0);
}

void Sort(Translator& t, const Operation& op) {
  if (op.regions.size() != 1) return t.Fail("it has no comparator");
  if (op.results.size() != op.operands.size()) {
    return t.Fail("it has another number of results than of operands");
  }
  const Region& comparator = op.regions[0];
  std::vector<Expr> inputs;
  for (ValueId id : op.operands) inputs.push_back(t.Full(id));
  const int64_t dimension = t.IntAttr(op, "dimension");
  Node* node = nullptr;
  const bool takes_pairs = comparator.arguments.size() == 2 * op.operands.size();
  const std::optional<SortKey> key = takes_pairs ? KeyOf(t, comparator) : std::nullopt;
  if (key.has_value()) {
    inputs.insert(inputs.begin(), KeysOf(t, op, *key));
    node = t.build().AddNode("_SortByKey", inputs,
                             {{"dimension", dimension}, {"is_descending", key->is_descending}});
  } else {
    inputs.push_back(Reshape(t.Ints({dimension}), t.Ints({})));
    const FunctionRef function = {.name = t.AddFunction(comparator, {}), .attrs = {}};
    node =
        t.build().AddNode("XlaVariadicSort", inputs,
                          {{"comparator", function}, {"is_stable", t.BoolAttr(op, "is_stable")}});
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    t.Set(op.results[i], t.build().Output(node, static_cast<int>(i)));
  }
}

constexpr NamedHandler kHandlers[] = {{"sort", Sort}};

}  // namespace

absl::Span<const NamedHandler> SortHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
