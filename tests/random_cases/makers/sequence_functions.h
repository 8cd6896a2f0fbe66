// Functions that steps of a sequence call.
#pragma once

#include <string>
#include <vector>

#include "tests/random_cases/sequence.h"

namespace tessera {

// A node of a function. Inputs are arguments, or "node:output:index".
struct FunctionNode {
  std::string name, op;
  std::vector<std::string> inputs;
  AttrMap attrs;
};

// Defines a function of arguments "x0", "x1" and so on, whose results are given by `results`.
void DefineFunction(Sequence& sequence, const std::string& name, const std::vector<DType>& args,
                    const std::vector<FunctionNode>& nodes, const std::vector<std::string>& results,
                    const std::vector<DType>& result_types);

FunctionNode Constant(const std::string& name, const Tensor& value);

}  // namespace tessera
