// Shape functions against recorded calls.
#pragma once

#include <string>

#include "tests/conformance/golden_corpus.h"

namespace tessera {

// Lets the op's shape function say what it knows of the outputs of a recorded call: given inputs
// and their values, shapes only, ranks only, or nothing. Empty if all agrees with what came out, or
// if there is no shape function or no result; else the first contradiction.
std::string ShapeContradiction(const GoldenCase& golden);

}  // namespace tessera
