#include "runtime/stablehlo/element_functions.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera::stablehlo {

Node* AddElementNode(Translator& t, absl::string_view op, std::vector<Expr> inputs,
                     std::initializer_list<ElementRegion> regions, AttrMap attrs) {
  std::vector<const Region*> bodies;
  for (const ElementRegion& named : regions) bodies.push_back(&named.region);
  const std::vector<ValueId> captured = t.CapturedBy(bodies);
  for (const auto& [attr, region] : regions) {
    attrs[std::string(attr)] = FunctionRef{.name = t.AddFunction(region, captured), .attrs = {}};
  }
  if (captured.empty()) return t.build().AddNode(op, inputs, std::move(attrs));
  const std::vector<Expr> arguments = t.CapturedArguments(captured);
  if (!t.status().ok()) return nullptr;
  attrs["Tcaptured"] = TypesOf(arguments);
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  return t.build().AddNode(absl::StrCat("_Capturing", op), inputs, std::move(attrs));
}

std::vector<DType> TypesOf(absl::Span<const Expr> values) {
  std::vector<DType> types;
  for (const Expr& value : values) types.push_back(value.dtype());
  return types;
}

}  // namespace tessera::stablehlo
