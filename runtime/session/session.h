// Session: a graph, its devices and its state; the runtime's front door.
//
//   ASSIGN_OR_RETURN(auto session, Session::Create({}));
//   RETURN_IF_ERROR(session->Extend(graph_def));
//   std::vector<Tensor> outputs;
//   RETURN_IF_ERROR(session->Run({{"x:0", x}}, {"y:0"}, {}, &outputs));
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/exec/executor.h"
#include "runtime/framework/device_factory.h"
#include "runtime/graph/prune.h"
#include "runtime/optimize/optimize.h"

namespace tensorflow {
class GraphDef;
class RunMetadata;
}  // namespace tensorflow

namespace tessera {

class Host;

struct SessionOptions {
  // The threads that the session shares with others. Null: the session makes a host of its own,
  // with these numbers of threads, each of which may be 0: one for each core.
  std::shared_ptr<Host> host;
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  // Runs that do not set one; infinite by default.
  absl::Duration default_timeout = absl::InfiniteDuration();
  bool allow_soft_placement = true;
  bool optimize = true;
  OptimizeOptions optimizer;
  ExecutorKind executor = ExecutorKind::kAuto;
  // See GraphImportOptions.
  bool allow_unknown_ops = false;
  // Devices of each type that is linked in; by default one CPU and whatever accelerators there are.
  DeviceOptions devices;
  // One log line for each node of what is planned, saying where it is.
  bool log_device_placement = false;
  // How exact and reproducible products are.
  Numerics numerics = Numerics::kFast;
  // For LoadSavedModel(): calls FreezeVariables() with the model's signatures. Only for callers
  // that run nothing else.
  bool freeze_variables = false;
};

struct RunOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // DEADLINE_EXCEEDED when it is over
  bool collect_stats = false;                         // fills RunMetadata's step_stats
  // Runs small graphs wholly on the calling thread, which then gets no inter-op parallelism.
  bool run_on_caller = true;
  CancellationManager* cancellation = nullptr;  // the caller's own; may cancel the run
};

// Handle of a prepared run: compiled once, no look-ups a run. Thread-safe.
class Callable {
 public:
  virtual ~Callable() = default;
  // `feeds` in the signature's order; dtypes are checked, shapes are not.
  // Errors: INVALID_ARGUMENT "... expects NAME to be float but string is provided"; the run's own.
  virtual absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                           std::vector<Tensor>* fetches,
                           tensorflow::RunMetadata* metadata = nullptr) const = 0;
  virtual const RunSignature& signature() const = 0;
};

using NamedTensor = std::pair<std::string, Tensor>;

// Thread-safe. Extend() waits for no run: running steps keep the graph they started with.
class Session {
 public:
  // Errors: those of MakeDevices().
  static absl::StatusOr<std::unique_ptr<Session>> Create(const SessionOptions& options);
  virtual ~Session() = default;

  // Adds nodes. Errors: see ImportGraph(). On an error nothing is added.
  virtual absl::Status Extend(const tensorflow::GraphDef& graph_def) = 0;

  // Feeds and fetches are "node:index" or "node"; targets are nodes. Compiled per signature,
  // cached. Errors: NOT_FOUND for unknown names; FAILED_PRECONDITION after Close(); kernels'
  // errors.
  virtual absl::Status Run(const RunOptions& options, const std::vector<NamedTensor>& feeds,
                           const std::vector<std::string>& fetches,
                           const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
                           tensorflow::RunMetadata* metadata = nullptr) = 0;
  absl::Status Run(const std::vector<NamedTensor>& feeds, const std::vector<std::string>& fetches,
                   const std::vector<std::string>& targets, std::vector<Tensor>* outputs) {
    return Run(RunOptions(), feeds, fetches, targets, outputs);
  }

  // The callable keeps what it needs of the session alive.
  virtual absl::StatusOr<std::shared_ptr<const Callable>> MakeCallable(
      const RunSignature& signature) = 0;

  // Partial runs: declares all feeds and fetches, then feeds some and fetches some until all are
  // done. Errors: INVALID_ARGUMENT for a feed or fetch not declared or used before.
  virtual absl::StatusOr<std::string> PartialRunSetup(const RunSignature& signature) = 0;
  virtual absl::Status PartialRun(const std::string& handle, const std::vector<NamedTensor>& feeds,
                                  const std::vector<std::string>& fetches,
                                  std::vector<Tensor>* outputs) = 0;

  // Promises that from now on nothing but runs of `runs` is run, or writes variables. Runs compiled
  // later have those variables as constants that none of `runs` may write; passes then fold and
  // pack them. A run whose names are not in the graph writes nothing. May be called once.
  // Errors: FAILED_PRECONDITION for a second call; those of functions that cannot be instantiated.
  virtual absl::Status FreezeVariables(const std::vector<RunSignature>& /*runs*/) {
    return absl::UnimplementedError("this session cannot freeze variables");
  }

  virtual std::vector<const Device*> ListDevices() const = 0;
  // Drops the resources of these containers; all of them if empty.
  virtual void ResetContainers(const std::vector<std::string>& containers) = 0;
  virtual ResourceManager& resources() = 0;
  // Cancels running steps and refuses new ones.
  virtual absl::Status Close() = 0;
};

}  // namespace tessera
