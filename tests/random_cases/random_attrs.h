// Random values of an op's attributes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/framework/op.h"
#include "tests/random_cases/random.h"

namespace tessera {

struct AttrChoice {
  bool hostile = false;
  std::vector<std::string> functions;  // of which one is named by attributes that take a function
};

// Returns a value for the attribute that its declaration allows, or with `hostile` sometimes one
// that it does not. Empty if there is none, such as for a function where there is no function.
std::optional<AttrValue> RandomAttr(Random& random, const OpDef& op, const AttrDef& attr,
                                    const AttrChoice& choice);

// Draws the types of all attributes of type `type` and `list(type)` for which `attrs` has no value,
// so that a kernel of the CPU takes them. Returns false if none was found.
bool DrawTypes(Random& random, const OpDef& op, AttrMap* attrs);

// Returns whether some kernel of the CPU takes a node with these complete attributes.
bool HasKernel(const OpDef& op, const AttrMap& attrs);

}  // namespace tessera
