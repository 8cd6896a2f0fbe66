#include "runtime/stablehlo/module.h"

#include <algorithm>

namespace tessera::stablehlo {

bool Type::IsStatic() const {
  return std::find(dimensions.begin(), dimensions.end(), kDynamic) == dimensions.end();
}

const Function* Module::FindFunction(absl::string_view name) const {
  for (const Function& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace tessera::stablehlo
