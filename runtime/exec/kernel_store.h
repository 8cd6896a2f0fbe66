// Kernels that outlive one executor.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Keeps the kernels of stateful nodes by node, so that all executors of a session share them: a
// random generator's sequence then goes on from run to run, whatever the runs fetch. Thread-safe.
class KernelStore {
 public:
  // The kernel of `node` made earlier for the same name, op, attributes and device, else
  // `make()`'s, which is kept. Nodes whose attributes name functions are never shared: they belong
  // to one function runtime. Errors: those of `make`.
  absl::StatusOr<std::shared_ptr<OpKernel>> FindOrMake(
      const Node& node, const Device* device,
      absl::FunctionRef<absl::StatusOr<std::unique_ptr<OpKernel>>()> make);

 private:
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<OpKernel>> kernels_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
