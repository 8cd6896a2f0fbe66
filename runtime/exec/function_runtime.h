// Makes the functions of a library callable.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/exec/executor.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/function.h"
#include "runtime/optimize/pass.h"

namespace tessera {

// Compiles the body of a function on the first Instantiate() for its attributes, and keeps it.
// A function may call itself: calls are bounded in depth.
//
//   LocalFunctionRuntime functions({.library = graph->library(), .device = cpu});
//   ASSIGN_OR_RETURN(const CallableFunction* f, functions.Instantiate({"f", {{"T",
//   DType::kFloat}}})); RETURN_IF_ERROR(f->Call(step, {x}, &results));
//
// Thread-safe.
class LocalFunctionRuntime final : public FunctionRuntime {
 public:
  struct Options {
    std::shared_ptr<const FunctionLibrary> library;  // may be null: then nothing is found
    Device* device = nullptr;  // where all bodies run; must outlive the runtime
    ExecutorKind executor = ExecutorKind::kAuto;
    bool optimize = true;
    OptimizeOptions optimizer;
    // For the passes, see OptimizationItem.
    ResourceManager* resources = nullptr;
    std::function<bool(const Node& variable)> is_frozen;
  };
  // Calls nested deeper end with RESOURCE_EXHAUSTED: each takes about 2 KiB of stack, and the
  // smallest stacks that run steps have 8 MiB.
  static constexpr int kMaxCallDepth = 1000;
  // Compiling a function that calls functions takes more of it a level.
  static constexpr int kMaxCompileDepth = 200;

  explicit LocalFunctionRuntime(Options options);
  ~LocalFunctionRuntime() override;

  // Errors: NOT_FOUND for an unknown function; RESOURCE_EXHAUSTED for one too deep among others;
  // those of FunctionLibrary::Instantiate() and Compile(), naming function and node. The same call
  // gives the same error again.
  absl::StatusOr<const CallableFunction*> Instantiate(const FunctionRef& function,
                                                      const FunctionUse& use) override;

 private:
  class Function;

  absl::Status Build(const FunctionRef& ref, Function* function);
  std::string KeyOf(const FunctionRef& ref, const OpDef& signature) const;

  const Options options_;
  // Held while a body compiles, which may instantiate the functions that it calls.
  std::recursive_mutex mu_;
  int compile_depth_ = 0;
  absl::flat_hash_map<std::string, std::unique_ptr<Function>> functions_;
};

}  // namespace tessera
