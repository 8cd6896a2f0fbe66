// Custom calls, whose ops the exporter names in a string: annotations, which compute nothing, and
// ops that StableHLO lacks.
#include "absl/strings/str_cat.h"
#include "runtime/stablehlo/elementwise.h"

namespace tessera::stablehlo {
namespace {

void PassThrough(Translator& t, const Operation& op) {
  if (op.results.size() != op.operands.size()) return t.Fail("it has another number of results");
  for (size_t i = 0; i < op.results.size(); ++i) t.Set(op.results[i], t.Get(op.operands[i]));
}

// Fails the run with the message of the exporter, and the values that the message speaks of.
void ShapeAssertion(Translator& t, const Operation& op) {
  if (op.operands.empty()) return t.Fail("it has no condition");
  if (!t.output()->asserts_shapes) return;
  std::vector<Expr> inputs = {t.Full(op.operands[0])};
  const auto* message = op.FindAttr<std::string>("error_message");
  inputs.push_back(t.build().Constant(
      Tensor::Scalar<std::string>(message == nullptr ? "a shape is wrong" : *message)));
  for (size_t i = 1; i < op.operands.size(); ++i) inputs.push_back(t.Full(op.operands[i]));
  Node* const node = t.build().AddNode("Assert", inputs);
  if (node != nullptr) t.effects().push_back(node);
}

// An op of one operand that is called by its name here.
template <const char* const& Name>
void Unary(Translator& t, const Operation& op) {
  Apply(t, op, 1, [](const std::vector<Expr>& x) { return Call(Name, {x[0]}); });
}
constexpr const char* kErf = "Erf";

// The greatest numbers of each row and their positions. Their number is that of the results.
void TopK(Translator& t, const Operation& op) {
  if (op.operands.size() != 1 || op.results.size() != 2) {
    return t.Fail("it has another number of operands or results");
  }
  const Type& type = t.type(op.results[0]);
  if (type.rank() < 1 || type.dimensions.back() == kDynamic) {
    return t.Fail("the number of its results is not known");
  }
  if (const auto* attributes = op.FindAttr<Attribute::Dictionary>("mhlo.attributes")) {
    for (const auto& [name, value] : *attributes) {
      const bool* const is_largest = name == "largest" ? value->get<bool>() : nullptr;
      if (is_largest != nullptr && !*is_largest) return t.Fail("the least are not supported");
    }
  }
  const Expr count = t.build().Int(static_cast<int32_t>(type.dimensions.back()));
  const Expr input = t.Full(op.operands[0]);
  const Expr keys = IsFloating(input.dtype()) ? KeyOfTotalOrder(input) : input;
  const std::vector<Expr> greatest = CallAll("TopKV2", {keys, count});
  if (greatest.size() != 2) return;
  t.Set(op.results[0], Call("GatherV2", {input, greatest[1], t.build().Int(type.rank() - 1)},
                            {{"batch_dims", int64_t{type.rank() - 1}}}));
  t.Set(op.results[1], greatest[1]);
}

// The handlers by the target of the call.
constexpr NamedHandler kTargets[] = {
    {"ApproxTopK", ApproximateTopK},
    {"Sharding", PassThrough},
    {"SPMDFullToShardShape", PassThrough},
    {"SPMDShardToFullShape", PassThrough},
    {"annotate_device_placement", PassThrough},
    {"mhlo.erf", Unary<kErf>},
    {"mhlo.topk", TopK},
    {"shape_assertion", ShapeAssertion},
    {"stablehlo.dynamic_reduce_window", DynamicReduceWindow},
    {"xla.sdy.FuncResultSharding", PassThrough},
    {"xla.sdy.GlobalToLocalShape", PassThrough},
    {"xla.sdy.LocalToGlobalShape", PassThrough},
};

void CustomCall(Translator& t, const Operation& op) {
  const std::string target = t.StringAttr(op, "call_target_name");
  for (const NamedHandler& entry : kTargets) {
    if (entry.op == target) return entry.handler(t, op);
  }
  if (LapackCall(t, op, target)) return;
  t.Fail(absl::StrCat("custom call of '", target, "' is not supported"));
}

constexpr NamedHandler kHandlers[] = {
    {"custom_call", CustomCall},
    {"optimization_barrier", PassThrough},
};

}  // namespace

absl::Span<const NamedHandler> CustomCallHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
