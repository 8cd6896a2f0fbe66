// The algorithms that the planner of products has chosen, for tests that must reach all of them.
#pragma once

#include <set>

#include "absl/strings/string_view.h"
#include "runtime/kernels/primitives/cpu/product_planner.h"

namespace tessera {

// Returns what PlanMatMul() and PlanConvolution() have chosen in this process since the last call.
// In a program that links this, the linker puts functions that note the choice in the places of
// those two, whoever calls them. Thread-safe.
std::set<ProductAlgorithm> TakePlannedProducts();

// Returns the name of an algorithm for messages.
absl::string_view NameOf(ProductAlgorithm algorithm);

}  // namespace tessera
