// Finds functions of scalars that can be called with vectors.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Notes in the nodes that apply functions of scalars to many elements, such as XlaReduce and
// XlaVariadicSort, which of their functions consist of element-wise ops alone: the attribute
// `_elementwise` lists the names of their attributes. The kernels call those once with vectors, and
// the others, which have branches, loops or reductions, once for each element.
//
// A function that is one op which adds, multiplies or compares its two arguments, or takes the
// greater or lesser of them, or that returns the second, needs no call: for a function in the
// attribute ATTR, the attribute `_is_ATTR` names the op, or is "second".
class MarkElementFunctionsPass : public Pass {
 public:
  absl::string_view name() const override { return "mark_element_functions"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
