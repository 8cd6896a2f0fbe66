// The names of the attributes that the bytecode of the VHLO dialect stores by position.
#pragma once

#include "absl/strings/string_view.h"

namespace tessera::stablehlo {

// Returns the names of the properties of an op, such as "compare_v1", in their order and separated
// by spaces. Empty for ops without properties and for those whose properties nothing here reads.
absl::string_view PropertyNames(absl::string_view op);

}  // namespace tessera::stablehlo
