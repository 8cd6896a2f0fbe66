// Calls, loops and branches.
#include <algorithm>

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {
namespace {

void CallFunction(Translator& t, const Operation& op) {
  t.TranslateCall(t.StringAttr(op, "callee"), op);
}

void Composite(Translator& t, const Operation& op) {
  t.TranslateCall(t.StringAttr(op, "decomposition"), op);
}

void SetResults(Translator& t, const Operation& op, Node* node) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    t.Set(op.results[i], t.build().Output(node, static_cast<int>(i)));
  }
}

FunctionRef Named(std::string name) { return FunctionRef{.name = std::move(name), .attrs = {}}; }

// The loop's state is its operands and what its regions use from outside; the latter stays.
void While(Translator& t, const Operation& op) {
  if (op.regions.size() != 2 || op.results.size() != op.operands.size()) {
    return t.Fail("it has no condition or no body");
  }
  for (const Region& region : op.regions) {
    if (region.arguments.size() != op.operands.size()) {
      return t.Fail("a region has another number of arguments");
    }
  }
  const std::vector<ValueId> captured = t.CapturedBy({&op.regions[0], &op.regions[1]});
  std::vector<Expr> state;
  for (ValueId id : op.operands) state.push_back(t.Full(id));
  const std::vector<Expr> constant = t.CapturedArguments(captured);
  state.insert(state.end(), constant.begin(), constant.end());
  const std::string condition = t.AddFunction(op.regions[0], captured);
  const std::string body = t.AddFunction(op.regions[1], captured, /*is_loop_body=*/true);
  SetResults(t, op,
             t.build().AddNode("StatelessWhile", state,
                               {{"cond", Named(condition)}, {"body", Named(body)}}));
}

std::vector<DType> ResultTypes(Translator& t, const Operation& op) {
  std::vector<DType> types;
  for (ValueId id : op.results) types.push_back(t.type(id).dtype);
  return types;
}

void If(Translator& t, const Operation& op) {
  if (op.regions.size() != 2 || op.operands.size() != 1) return t.Fail("it has no branches");
  const std::vector<ValueId> captured = t.CapturedBy({&op.regions[0], &op.regions[1]});
  std::vector<Expr> inputs = {t.Full(op.operands[0])};
  const std::vector<Expr> arguments = t.CapturedArguments(captured);
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  SetResults(t, op,
             t.build().AddNode("StatelessIf", inputs,
                               {{"then_branch", Named(t.AddFunction(op.regions[0], captured))},
                                {"else_branch", Named(t.AddFunction(op.regions[1], captured))},
                                {"Tout", ResultTypes(t, op)}}));
}

// Returns the branch that a case takes if its index is a constant, and null otherwise.
const Region* KnownBranch(const Operation& op, const Expr& index) {
  const Node* node = index.endpoint().node;
  // The index of the platform has 64 bits, and is converted, if JAX computes in double precision.
  while (node != nullptr && node->IsOp("Cast") &&
         (node->output_type(0) == DType::kInt32 || node->output_type(0) == DType::kInt64)) {
    node = node->input(0).node;
  }
  if (node == nullptr || !node->IsOp("Const")) return nullptr;
  const absl::StatusOr<Tensor> value = node->attr<Tensor>("value");
  if (!value.ok() || value->dtype() != DType::kInt32 || value->num_elements() != 1) return nullptr;
  // The last branch is also that of an index out of range.
  const size_t last = op.regions.size() - 1;
  const int32_t branch = *value->data<int32_t>();
  return &op.regions[branch < 0 ? last : std::min<size_t>(branch, last)];
}

// A module for several platforms has cases by the platform. The branches of the others call what is
// not known here.
void Case(Translator& t, const Operation& op) {
  if (op.regions.empty() || op.operands.size() != 1) return t.Fail("it has no branches");
  if (const Region* const branch = KnownBranch(op, t.Get(op.operands[0]).expr)) {
    const std::vector<ValueId> results = t.Translate(*branch);
    if (!t.status().ok()) return;
    if (!branch->arguments.empty() || results.size() != op.results.size()) {
      return t.Fail("a branch has arguments, or another number of results");
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const Type &from = t.type(results[i]), &to = t.type(op.results[i]);
      if (from.dtype != to.dtype || from.rank() != to.rank()) {
        return t.Fail("a branch has results of other types");
      }
      t.Set(op.results[i], t.Get(results[i]));
    }
    return;
  }
  std::vector<const Region*> regions;
  for (const Region& region : op.regions) regions.push_back(&region);
  const std::vector<ValueId> captured = t.CapturedBy(regions);
  std::vector<Expr> inputs = {t.Full(op.operands[0])};
  const std::vector<Expr> arguments = t.CapturedArguments(captured);
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  std::vector<FunctionRef> branches;
  for (const Region* region : regions) branches.push_back(Named(t.AddFunction(*region, captured)));
  SetResults(t, op,
             t.build().AddNode("StatelessCase", inputs,
                               {{"branches", std::move(branches)}, {"Tout", ResultTypes(t, op)}}));
}

void Zero(Translator& t, const Operation& op) {
  t.Set(op.results[0], CastTo(t.build().Int(0), t.type(op.results[0]).dtype));
}

constexpr NamedHandler kHandlers[] = {
    {"call", CallFunction}, {"case", Case},       {"composite", Composite}, {"if", If},
    {"partition_id", Zero}, {"replica_id", Zero}, {"while", While},
};

}  // namespace

absl::Span<const NamedHandler> ControlFlowHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
