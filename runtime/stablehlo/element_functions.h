// Nodes that apply regions of scalars to many elements: reducers, comparators, combiners.
#pragma once

#include <initializer_list>
#include <vector>

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {

// A region whose function an attribute of a node names.
struct ElementRegion {
  absl::string_view attr;
  const Region& region;
};

// Adds a node of `op`, one of XLA's ops, with a function of each region. Where the regions use
// values from outside that are not constant, such as the size of a dynamic dimension, the node is
// one of the op "_Capturing" + `op`, which has these values as further inputs and hands them to all
// its functions. Returns null after an error.
Node* AddElementNode(Translator& t, absl::string_view op, std::vector<Expr> inputs,
                     std::initializer_list<ElementRegion> regions, AttrMap attrs);

// The dtypes of values.
std::vector<DType> TypesOf(absl::Span<const Expr> values);

}  // namespace tessera::stablehlo
