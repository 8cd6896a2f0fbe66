#include "runtime/graph/side_effects.h"

#include <algorithm>

#include "runtime/graph/function.h"

namespace tessera {
namespace {

constexpr OpTraits kSideEffects(OpTrait::kUndeclared, OpTrait::kWritesResource,
                                OpTrait::kWritesOutside, OpTrait::kAsserts);

constexpr OpTraits kDependencies(OpTrait::kUndeclared, OpTrait::kWritesResource,
                                 OpTrait::kWritesOutside, OpTrait::kAsserts,
                                 OpTrait::kReadsResource, OpTrait::kMakesResource,
                                 OpTrait::kReadsOutside, OpTrait::kRandom, OpTrait::kMayWait,
                                 OpTrait::kControlFlow, OpTrait::kCallsFunctions);

bool HasFunctionAttr(const Node& node) {
  return std::any_of(node.attrs().begin(), node.attrs().end(), [](const auto& attr) {
    return attr.second.template get<FunctionRef>() != nullptr ||
           attr.second.template get<std::vector<FunctionRef>>() != nullptr;
  });
}

}  // namespace

bool OpHasSideEffect(const OpDef& op) { return op.traits.HasAnyOf(kSideEffects); }

bool HasSideEffect(const Node& node, const FunctionLibrary* library) {
  if (!node.op().Has(OpTrait::kCallsFunctions)) return OpHasSideEffect(node.op());
  if (library == nullptr) return node.is_stateful();
  if (library->Contains(node.op_name())) return library->HasSideEffect(node.op_name());
  for (const auto& [name, value] : node.attrs()) {
    if (const auto* function = value.get<FunctionRef>()) {
      if (library->HasSideEffect(function->name)) return true;
    } else if (const auto* functions = value.get<std::vector<FunctionRef>>()) {
      for (const FunctionRef& f : *functions) {
        if (library->HasSideEffect(f.name)) return true;
      }
    }
  }
  return false;
}

bool DependsOnState(const Node& node) {
  const auto& inputs = node.input_types();
  const auto& outputs = node.output_types();
  // An attribute may make a reference of an argument that is not declared as one.
  return node.op().traits.HasAnyOf(kDependencies) || HasFunctionAttr(node) ||
         std::any_of(inputs.begin(), inputs.end(), IsRef) ||
         std::any_of(outputs.begin(), outputs.end(), IsRef);
}

bool IsPure(const Node& node) {
  return !node.is_stateful() && !node.op().Has(OpTrait::kFromCaller) && !DependsOnState(node);
}

}  // namespace tessera
