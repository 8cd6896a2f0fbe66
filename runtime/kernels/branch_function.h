// A function that a kernel calls only under a condition: a branch, the body of a loop.
#pragma once

#include <memory>

#include "runtime/framework/kernel.h"

namespace tessera {

// Makes a function callable for a kernel, and keeps for the call what the kernels of its nodes say
// of their attributes: as in TensorFlow, nobody minds a bad stride in a branch that is not taken.
// Everything else that keeps a function from being made, missing kernels among it, still makes the
// creation of the calling kernel fail.
class BranchFunction {
 public:
  // `num_args` and `num_results` are those of the call.
  BranchFunction(const KernelBuild& build, const FunctionRef& ref, int num_args, int num_results);
  BranchFunction(const KernelBuild& build, absl::string_view attr_name, int num_args,
                 int num_results)
      : BranchFunction(build, build.attr<FunctionRef>(attr_name), num_args, num_results) {}

  // Null if `build` failed. Lives as long as this object and the runtime of the function.
  const CallableFunction* get() const { return function_; }

 private:
  std::unique_ptr<const CallableFunction> refused_;
  const CallableFunction* function_ = nullptr;
};

}  // namespace tessera
