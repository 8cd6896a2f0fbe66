// Makes the functions of a library callable.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/planner.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/function.h"

namespace tessera {

// Compiles the body of a function on the first Instantiate() for its attributes and its caller's
// device, and keeps it. A body may span several devices. A function may call itself: calls are
// bounded in depth.
//
//   LocalFunctionRuntime functions({.library = graph->library(), .planning = {.devices = {cpu}}});
//   ASSIGN_OR_RETURN(const CallableFunction* f,
//                    functions.Instantiate({"f", {{"T", DType::kFloat}}}, {.device = cpu}));
//   RETURN_IF_ERROR(f->Call(step, {x}, &results));
//
// Thread-safe.
class LocalFunctionRuntime final : public FunctionRuntime {
 public:
  struct Options {
    std::shared_ptr<const FunctionLibrary> library;  // may be null: then nothing is found
    // How bodies are planned. What it says of the caller is each FunctionUse's business.
    PlanOptions planning;
    ExecutorKind executor = ExecutorKind::kAuto;
    Numerics numerics = Numerics::kFast;
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

  absl::Status Build(const std::string& key, const FunctionRef& ref, const FunctionUse& use,
                     Function* function);
  std::string KeyOf(const FunctionRef& ref, const FunctionUse& use, const OpDef& signature) const;
  // Returns the device of a body whose caller has none: the first CPU.
  Device* host() const;

  const Options options_;
  // Held while a body compiles, which may instantiate the functions that it calls.
  std::recursive_mutex mu_;
  int compile_depth_ = 0;
  absl::flat_hash_map<std::string, std::unique_ptr<Function>> functions_;
};

}  // namespace tessera
