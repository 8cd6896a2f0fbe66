// Sorting by comparators.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/stablehlo/element_functions.h"
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

bool IsElementwise(const Operation& op) {
  for (const absl::Span<const NamedHandler> family : {ElementwiseHandlers(), IntegerHandlers()}) {
    for (const NamedHandler& entry : family) {
      if (entry.op == op.name) return true;
    }
  }
  return op.name == "constant";
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

  // True only for what element-wise ops, which take all elements at once, make of an argument: any
  // other value is no key of an element.
  bool Reflects(ValueId first, ValueId other) {
    known_.clear();
    uses_argument_ = false;
    return Compare(first, other) && uses_argument_;
  }

 private:
  bool Compare(ValueId first, ValueId other) {
    const auto argument = arguments_.find(first);
    if (argument != arguments_.end()) {
      uses_argument_ = true;
      const auto others = arguments_.find(other);
      return others != arguments_.end() && argument->second % 2 == 0 &&
             others->second == argument->second + 1;
    }
    const Operation* const a = MakerOf(first);
    const Operation* const b = MakerOf(other);
    if (a == nullptr || b == nullptr) return first == other;  // values from outside
    if (a->name != b->name || a->operands.size() != b->operands.size() || !a->regions.empty() ||
        a->results.size() != 1 || b->results.size() != 1 || !IsElementwise(*a) ||
        a->attributes.size() != b->attributes.size()) {
      return false;
    }
    // A value that is made of itself, as a damaged module may have it, is asked for again here.
    if (!known_.insert({first, other}).second) return true;
    for (size_t i = 0; i < a->attributes.size(); ++i) {
      if (a->attributes[i].first != b->attributes[i].first ||
          !AreEqual(a->attributes[i].second, b->attributes[i].second)) {
        return false;
      }
    }
    for (size_t i = 0; i < a->operands.size(); ++i) {
      if (!Compare(a->operands[i], b->operands[i])) return false;
    }
    return true;
  }

  absl::flat_hash_map<ValueId, size_t> arguments_;
  absl::flat_hash_map<ValueId, const Operation*> makers_;
  absl::flat_hash_set<std::pair<ValueId, ValueId>> known_;  // true unless another is false
  bool uses_argument_ = false;
};

// A key by which elements are sorted, where a comparator compares those of two elements.
struct SortKey {
  ValueId of_first = 0;
  bool is_total = false;  // in the total order of floats
  bool is_descending = false;
};

// Finds the keys that a comparator compares: the first one, if they are equal the second one, and
// so on.
class KeyFinder {
 public:
  KeyFinder(Translator* t, const Region& comparator) : t_(*t), mirror_(comparator) {}

  // Returns nothing if it compares otherwise.
  std::vector<SortKey> Find(ValueId result) {
    std::vector<SortKey> keys;
    for (;;) {
      const Operation* const op = mirror_.MakerOf(result);
      if (op == nullptr || op->operands.size() != 2 || keys.size() > kMaxKeys) return {};
      const bool has_more = op->name == "or";
      const std::optional<ValueId> next = has_more ? AddKeyBeforeOthers(*op, &keys) : std::nullopt;
      if (!has_more && AddKey(*op, &keys)) return keys;
      if (!next.has_value()) return {};
      result = *next;
    }
  }

 private:
  static constexpr size_t kMaxKeys = 20;

  // Adds the key of a comparison; returns false if it is none of keys.
  bool AddKey(const Operation& comparison, std::vector<SortKey>* keys) {
    if (comparison.name != "compare" || comparison.operands.size() != 2) return false;
    const int64_t direction = t_.IntAttr(comparison, "comparison_direction");
    const ValueId first = comparison.operands[0];
    const DType dtype = t_.type(first).dtype;
    const bool has_order = IsInteger(dtype) || IsFloating(dtype) || dtype == DType::kBool;
    if ((direction != kLess && direction != kGreater) || !has_order ||
        !mirror_.Reflects(first, comparison.operands[1])) {
      return false;
    }
    keys->push_back({.of_first = first,
                     .is_total = t_.IntAttr(comparison, "compare_type") == kTotalOrder,
                     .is_descending = direction == kGreater});
    return true;
  }

  // Takes x < y | (x == y & rest): adds the key x, and returns the rest.
  std::optional<ValueId> AddKeyBeforeOthers(const Operation& op, std::vector<SortKey>* keys) {
    for (const int i : {0, 1}) {
      const Operation* const order = mirror_.MakerOf(op.operands[i]);
      const Operation* const both = mirror_.MakerOf(op.operands[1 - i]);
      if (order == nullptr || both == nullptr || both->name != "and" ||
          both->operands.size() != 2) {
        continue;
      }
      for (const int j : {0, 1}) {
        const Operation* const equality = mirror_.MakerOf(both->operands[j]);
        if (equality == nullptr || equality->name != "compare" || order->name != "compare" ||
            equality->operands != order->operands ||
            t_.IntAttr(*equality, "comparison_direction") != kEqual ||
            t_.IntAttr(*equality, "compare_type") != t_.IntAttr(*order, "compare_type")) {
          continue;
        }
        if (AddKey(*order, keys)) return both->operands[1 - j];
      }
    }
    return std::nullopt;
  }

  Translator& t_;
  Mirror mirror_;
};

std::vector<SortKey> KeysOfComparator(Translator& t, const Region& comparator) {
  // Longer ones are no comparisons of keys, and would nest deeply.
  constexpr size_t kMaxOperations = 100;
  if (comparator.operations.empty() || comparator.operations.size() > kMaxOperations) return {};
  const Operation& last = comparator.operations.back();
  if (last.name != "return" || last.operands.size() != 1) return {};
  return KeyFinder(&t, comparator).Find(last.operands[0]);
}

// A comparator, which is a region of a sort or the body of a function.
struct Comparator {
  const Region& region;
  absl::string_view function = {};
};

// The keys of all elements of the sorted `operands`, computed by the part of the comparator that
// computes one.
Expr ElementKeys(Translator& t, const Comparator& comparator, absl::Span<const ValueId> operands,
                 const SortKey& key) {
  Region part = comparator.region;
  part.operations.back().operands = {key.of_first};
  std::vector<Expr> inputs;
  for (ValueId id : operands) inputs.insert(inputs.end(), 2, t.Full(id));
  // A function has nothing from outside. What a region has are scalars, which broadcast.
  const std::vector<ValueId> captured = t.CapturedBy({&part});
  const std::vector<Expr> arguments = t.CapturedArguments(captured);
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  if (!t.status().ok()) return Expr();
  const DType dtype = t.type(key.of_first).dtype;
  const FunctionRef function = {.name = comparator.function.empty()
                                            ? t.AddFunction(part, captured)
                                            : t.AddFunctionMadeOf(comparator.function, part),
                                .attrs = {}};
  const Expr keys = t.build().Output(t.build().AddNode(
      "PartitionedCall", inputs,
      {{"Tin", TypesOf(inputs)}, {"Tout", std::vector<DType>{dtype}}, {"f", function}}));
  if (!IsFloating(dtype)) return CastTo(keys, CarrierOf(dtype));
  // Other comparisons of floats take the zeros for one.
  return key.is_total ? KeyOfTotalOrder(keys) : keys + t.build().Scalar(dtype, 0);
}

// Sorts by the last key first: what follows keeps the order of elements with equal keys.
void SortByKeys(Translator& t, const Operation& op, const std::vector<SortKey>& keys) {
  std::vector<Expr> values;  // the keys, and then the operands
  for (const SortKey& key : keys) {
    values.push_back(ElementKeys(t, {op.regions[0]}, op.operands, key));
  }
  for (ValueId id : op.operands) values.push_back(t.Full(id));
  const AttrMap attrs = {{"dimension", t.IntAttr(op, "dimension")}};
  for (size_t k = keys.size(); k-- > 0;) {
    std::vector<Expr> inputs = {values[k]};
    values.erase(values.begin() + static_cast<int64_t>(k));
    inputs.insert(inputs.end(), values.begin(), values.end());
    AttrMap with_direction = attrs;
    with_direction["is_descending"] = keys[k].is_descending;
    Node* const node = t.build().AddNode("_SortByKey", inputs, std::move(with_direction));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = t.build().Output(node, static_cast<int>(i));
    }
  }
  for (size_t i = 0; i < op.results.size(); ++i) t.Set(op.results[i], values[i]);
}

void SortByComparator(Translator& t, const Operation& op) {
  std::vector<Expr> inputs;
  for (ValueId id : op.operands) inputs.push_back(t.Full(id));
  if (!t.status().ok()) return;
  const std::vector<DType> types = TypesOf(inputs);
  inputs.push_back(Reshape(t.Ints({t.IntAttr(op, "dimension")}), t.Ints({})));
  Node* const node = AddElementNode(t, "XlaVariadicSort", inputs, {{"comparator", op.regions[0]}},
                                    {{"T", types}, {"is_stable", t.BoolAttr(op, "is_stable")}});
  for (size_t i = 0; i < op.results.size(); ++i) {
    t.Set(op.results[i], t.build().Output(node, static_cast<int>(i)));
  }
}

void Sort(Translator& t, const Operation& op) {
  if (op.regions.size() != 1) return t.Fail("it has no comparator");
  if (op.results.size() != op.operands.size()) {
    return t.Fail("it has another number of results than of operands");
  }
  const Region& comparator = op.regions[0];
  const bool takes_pairs = comparator.arguments.size() == 2 * op.operands.size();
  const std::vector<SortKey> keys =
      takes_pairs ? KeysOfComparator(t, comparator) : std::vector<SortKey>();
  keys.empty() ? SortByComparator(t, op) : SortByKeys(t, op, keys);
}

// Takes the first elements of the operands along a dimension by the order of a key.
void TakeFirst(Translator& t, const Operation& op, absl::Span<const ValueId> operands,
               int64_t dimension, const Expr& key, bool is_descending) {
  const Type& type = t.type(op.results[0]);
  const int64_t rank = type.rank();
  Dims to_last(rank);
  std::iota(to_last.begin(), to_last.end(), 0);
  std::swap(to_last[dimension], to_last.back());  // which is its own inverse
  // TopKV2 leaves the place of NaN open.
  Expr order = IsFloating(key.dtype()) ? KeyOfTotalOrder(key) : key;
  if (order.dtype() == DType::kBool) order = CastTo(order, DType::kInt8);
  if (!is_descending) order = Call("Invert", {order});
  const Expr count = t.build().Int(static_cast<int32_t>(type.dimensions[dimension]));
  const std::vector<Expr> first = CallAll("TopKV2", {t.Transposed(order, to_last), count});
  if (first.size() != 2) return;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Expr all = t.Transposed(t.Full(operands[i]), to_last);
    const Expr taken = Call("GatherV2", {all, first[1], t.build().Int(static_cast<int>(rank - 1))},
                            {{"batch_dims", rank - 1}});
    t.Set(op.results[i], t.Transposed(taken, to_last));
  }
}

// The dimension of the config of a custom call; -1 if it has none.
int64_t ReductionDimension(const Operation& op) {
  const auto* config = op.FindAttr<Attribute::Dictionary>("mhlo.backend_config");
  if (config == nullptr) config = op.FindAttr<Attribute::Dictionary>("backend_config");
  if (config == nullptr) return -1;
  for (const auto& [name, value] : *config) {
    const auto* const dimension = value->get<int64_t>();
    if (name == "reduction_dim" && dimension != nullptr) return *dimension;
  }
  return -1;
}

constexpr NamedHandler kHandlers[] = {{"sort", Sort}};

}  // namespace

void ApproximateTopK(Translator& t, const Operation& op) {
  const size_t count = op.results.size();
  const int64_t dimension = ReductionDimension(op);
  if (count == 0 || op.operands.size() < 2 * count || dimension < 0 ||
      dimension >= t.type(op.results[0]).rank()) {
    return t.Fail("it has another number of operands, or no dimension");
  }
  if (t.type(op.results[0]).dimensions[dimension] == kDynamic) {
    return t.Fail("the number of its results is not known");
  }
  const auto operands = absl::MakeConstSpan(op.operands).first(count);
  const Function* const function = t.CalledFunction(op);
  if (function == nullptr) return;
  const bool takes_pairs = function->body.arguments.size() == 2 * count;
  const std::vector<SortKey> keys =
      takes_pairs ? KeysOfComparator(t, function->body) : std::vector<SortKey>();
  if (keys.size() == 1) {
    const Expr key = ElementKeys(t, {function->body, function->name}, operands, keys[0]);
    if (!t.status().ok()) return;
    return TakeFirst(t, op, operands, dimension, key, keys[0].is_descending);
  }
  std::vector<Expr> inputs;
  for (ValueId id : operands) inputs.push_back(t.Full(id));
  inputs.push_back(t.build().Int(static_cast<int32_t>(dimension)));
  const FunctionRef comparator = {.name = t.AddCalledFunction(op), .attrs = {}};
  Node* const sorted = t.build().AddNode("XlaVariadicSort", inputs,
                                         {{"comparator", comparator}, {"is_stable", true}});
  for (size_t i = 0; i < count; ++i) {
    const Dims& dims = t.type(op.results[i]).dimensions;
    t.Set(op.results[i], Call("Slice", {t.build().Output(sorted, static_cast<int>(i)),
                                        t.Ints(Dims(dims.size(), 0)), t.Ints(dims)}));
  }
}

absl::Span<const NamedHandler> SortHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
