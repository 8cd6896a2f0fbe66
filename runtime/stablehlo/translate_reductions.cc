// Reductions over dimensions and over windows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/stablehlo/element_functions.h"
#include "runtime/stablehlo/elementwise.h"

namespace tessera::stablehlo {
namespace {

// A reduction by an op that has kernels of its own.
struct Reduction {
  absl::string_view reducer;  // in StableHLO
  absl::string_view over_dimensions;
  absl::string_view of_two;
};

constexpr Reduction kReductions[] = {
    {"add", "Sum", "AddV2"},       {"multiply", "Prod", "Mul"},  {"maximum", "Max", "Maximum"},
    {"minimum", "Min", "Minimum"}, {"and", "All", "LogicalAnd"}, {"or", "Any", "LogicalOr"},
};

const Reduction* FindReduction(const Region& region, DType dtype) {
  absl::string_view reducer = KnownReducer(region);
  if (dtype == DType::kBool) {
    if (reducer == "maximum" || reducer == "add") reducer = "or";
    if (reducer == "minimum" || reducer == "multiply") reducer = "and";
  } else if (reducer == "and" || reducer == "or") {
    return nullptr;
  }
  for (const Reduction& reduction : kReductions) {
    if (reduction.reducer == reducer) return &reduction;
  }
  return nullptr;
}

// Whether starting from `init` is the same as starting from the first element.
bool IsIdentity(const Expr& init, absl::string_view reducer) {
  if (init.empty() || !init.endpoint().node->IsOp("Const")) return false;
  auto value = init.endpoint().node->attr<Tensor>("value");
  if (!value.ok() || value->num_elements() != 1) return false;
  if (value->dtype() == DType::kBool) return value->scalar<bool>() == (reducer == "and");
  const std::string text = ElementToString(*value, 0);
  if (reducer == "add") return text == "0";
  if (reducer == "multiply") return text == "1";
  if (reducer == "maximum") return text == "-inf";
  return reducer == "minimum" && text == "inf";
}

// Reduces by calls of a function, an element at a time.
void GeneralReduce(Translator& t, const Operation& op, const Dims& dimensions) {
  std::vector<Expr> inputs;
  for (ValueId id : op.operands) inputs.push_back(t.Full(id));
  std::vector<DType> types;
  for (ValueId id : op.results) types.push_back(t.type(id).dtype);
  Node* const node = AddElementNode(t, "XlaVariadicReduceV2", inputs, {{"reducer", op.regions[0]}},
                                    {{"T", types}, {"dimensions_to_reduce", dimensions}});
  for (size_t i = 0; i < op.results.size(); ++i) {
    t.Set(op.results[i], t.build().Output(node, static_cast<int>(i)));
  }
}

void Reduce(Translator& t, const Operation& op) {
  const Dims dimensions = t.IntsAttr(op, "dimensions");
  if (op.regions.size() != 1 || op.operands.size() != 2 * op.results.size()) {
    return t.Fail("it has another number of operands");
  }
  const Reduction* const known = FindReduction(op.regions[0], t.type(op.results[0]).dtype);
  if (op.results.size() != 1 || known == nullptr) return GeneralReduce(t, op, dimensions);
  const DType dtype = t.type(op.results[0]).dtype;
  const Expr init = CastTo(t.Full(op.operands[1]), CarrierOf(dtype));
  Expr result = Call(known->over_dimensions,
                     {CastTo(t.Full(op.operands[0]), CarrierOf(dtype)), t.Ints(dimensions)});
  if (!IsIdentity(init, known->reducer)) {
    result = Call(known->of_two, {result, init});
  }
  t.Set(op.results[0], CastTo(result, dtype));
}

// Whether a dynamic dimension may have fewer elements than a window by more than its stride. There
// are no results then, and the pools refuse the window instead.
bool MayNotFit(const Type& operand, const Dims& window, const Dims& strides, const Dims& padding) {
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t least = 1 + padding[2 * d] + padding[2 * d + 1];
    if (operand.dimensions[d] == kDynamic && least < window[d] - strides[d]) return true;
  }
  return false;
}

// Paddings, [rank, 2], which are longer than `padding` if the operand is too small for a window: by
// so much that the pools accept it, and have no results.
Expr PaddingThatFits(Translator& t, const Expr& input, const Dims& window, const Dims& strides,
                     const Dims& padding) {
  Dims low, high, needed;
  for (size_t d = 0; d < window.size(); ++d) {
    low.push_back(padding[2 * d]);
    high.push_back(padding[2 * d + 1]);
    needed.push_back(std::max<int64_t>(window[d] - strides[d] - low[d] - high[d], 0));
  }
  const Expr zeros = t.Ints(Dims(window.size(), 0));
  const Expr missing = Call("Maximum", {t.Ints(needed) - ShapeOf(input), zeros});
  return Call("Pack", {t.Ints(low), t.Ints(high) + missing}, {{"axis", int64_t{1}}});
}

// Pools over the two middle dimensions of four, if that is what the windows are.
bool Pool(Translator& t, const Operation& op, const Reduction& reduction, const Dims& window,
          const Dims& strides, const Dims& padding) {
  const Type& type = t.type(op.results[0]);
  const bool is_max = reduction.reducer == "maximum";
  if (window.size() != 4 || window[0] != 1 || window[3] != 1 || strides[0] != 1 ||
      strides[3] != 1 || !IsFloating(type.dtype) || (!is_max && reduction.reducer != "add")) {
    return false;
  }
  if (padding[0] != 0 || padding[1] != 0 || padding[6] != 0 || padding[7] != 0 ||
      std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p < 0; })) {
    return false;
  }
  // The pools refuse windows that are larger than the operand, of which there are no results.
  if (type.dimensions[1] == 0 || type.dimensions[2] == 0) return false;
  const int64_t channels = type.dimensions[3];
  if (!is_max && (channels == kDynamic || channels == 0 || strides[1] != strides[2])) return false;
  const Expr init = t.Full(op.operands[1]);
  if (!IsIdentity(init, reduction.reducer)) return false;
  Expr input = t.Full(op.operands[0]);
  const bool is_padded =
      std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p != 0; });
  if (MayNotFit(t.type(op.operands[0]), window, strides, padding)) {
    input = Call("PadV2", {input, PaddingThatFits(t, input, window, strides, padding), init});
  } else if (is_padded) {
    input = Call("PadV2", {input, Reshape(t.Ints(padding), t.Ints({4, 2})), init});
  }
  AttrMap attrs = {{"strides", strides}, {"padding", "VALID"}};
  if (is_max) {
    attrs["ksize"] = window;
    attrs["_propagates_nan"] = true;
    t.Set(op.results[0], Call("MaxPool", {input}, attrs));
  } else {
    // An average times the size of its window is not the sum to the last bit.
    const Expr ones = Call(
        "Fill", {t.Ints({window[1], window[2], channels, 1}), t.build().Scalar(type.dtype, 1)});
    t.Set(op.results[0], Call("DepthwiseConv2dNative", {input, ones}, attrs));
  }
  return true;
}

bool AreOnes(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d == 1; });
}

void ReduceWindow(Translator& t, const Operation& op) {
  if (op.regions.size() != 1 || op.operands.size() != 2 || op.results.size() != 1) {
    return t.Fail("only one operand is supported");
  }
  const Dims window = t.IntsAttr(op, "window_dimensions");
  const Dims strides = t.IntsAttr(op, "window_strides");
  const Dims base_dilations = t.IntsAttr(op, "base_dilations");
  const Dims window_dilations = t.IntsAttr(op, "window_dilations");
  const Dims padding = t.IntsAttr(op, "padding");
  if (!t.status().ok()) return;
  const size_t rank = t.type(op.operands[0]).dimensions.size();
  if (window.size() != rank || strides.size() != rank || padding.size() != 2 * rank) {
    return t.Fail("its attributes are of another rank than its operand");
  }
  const Reduction* const known = FindReduction(op.regions[0], t.type(op.results[0]).dtype);
  if (known != nullptr && AreOnes(base_dilations) && AreOnes(window_dilations) &&
      Pool(t, op, *known, window, strides, padding)) {
    return;
  }
  const int64_t rows = static_cast<int64_t>(rank);
  Node* const node =
      AddElementNode(t, "XlaReduceWindow",
                     {t.Full(op.operands[0]), t.Full(op.operands[1]), t.Ints(window),
                      t.Ints(strides), t.Ints(base_dilations), t.Ints(window_dilations),
                      Reshape(t.Ints(padding), t.Ints({rows, 2}))},
                     {{"computation", op.regions[0]}}, {});
  t.Set(op.results[0], t.build().Output(node));
}

void SelectAndScatter(Translator& t, const Operation& op) {
  if (op.regions.size() != 2 || op.operands.size() != 3) {
    return t.Fail("it has another number of operands");
  }
  const Dims window = t.IntsAttr(op, "window_dimensions");
  const int64_t rows = static_cast<int64_t>(window.size());
  Node* const node = AddElementNode(
      t, "XlaSelectAndScatter",
      {t.Full(op.operands[0]), t.Ints(window), t.Ints(t.IntsAttr(op, "window_strides")),
       Reshape(t.Ints(t.IntsAttr(op, "padding")), t.Ints({rows, 2})), t.Full(op.operands[1]),
       t.Full(op.operands[2])},
      {{"select", op.regions[0]}, {"scatter", op.regions[1]}}, {});
  t.Set(op.results[0], t.build().Output(node));
}

constexpr NamedHandler kHandlers[] = {
    {"reduce", Reduce},
    {"reduce_window", ReduceWindow},
    {"select_and_scatter", SelectAndScatter},
};

}  // namespace

void DynamicReduceWindow(Translator& t, const Operation& op) {
  // An array, its first value, and the five that ReduceWindow has in attributes.
  if (op.operands.size() != 7 || op.results.size() != 1) {
    return t.Fail("only one operand is supported");
  }
  std::vector<Expr> inputs;
  for (ValueId id : op.operands) inputs.push_back(t.Full(id));
  const FunctionRef computation = {.name = t.AddCalledFunction(op), .attrs = {}};
  t.Set(op.results[0], Call("XlaReduceWindow", inputs, {{"computation", computation}}));
}

absl::string_view KnownReducer(const Region& region) {
  if (region.operations.size() != 2 || region.arguments.size() != 2) return "";
  const Operation& op = region.operations[0];
  const Operation& last = region.operations[1];
  const std::vector<ValueId>& arguments = region.arguments;
  const std::vector<ValueId> swapped = {arguments[1], arguments[0]};
  if (last.name != "return" || last.operands != op.results ||
      (op.operands != arguments && op.operands != swapped)) {
    return "";
  }
  for (const Reduction& reduction : kReductions) {
    if (reduction.reducer == op.name) return reduction.reducer;
  }
  return "";
}

absl::Span<const NamedHandler> ReductionHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
