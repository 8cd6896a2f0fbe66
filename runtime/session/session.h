// A session: a graph with its devices and its state. Programs use the runtime through it.
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
#include "runtime/graph/graph.h"
#include "runtime/graph/prune.h"
#include "runtime/optimize/optimize.h"

namespace tensorflow {
class GraphDef;
class RunMetadata;
}  // namespace tensorflow

namespace tessera {

class Host;
class Share;

struct SessionOptions {
  // The thread pools, which several sessions may share. If null, the session makes a host of its
  // own with the numbers of threads below; 0 means one thread for each core.
  std::shared_ptr<Host> host;
  int intra_op_threads = 0;
  int inter_op_threads = 0;
  // The share to which the session's runs belong where they compete with others for the host's
  // slots (RunSlots). It must outlive the session's runs. Null: nobody's.
  const Share* share = nullptr;
  // The timeout of runs that do not set one.
  absl::Duration default_timeout = absl::InfiniteDuration();
  bool allow_soft_placement = true;
  bool optimize = true;
  OptimizeOptions optimizer;
  ExecutorKind executor = ExecutorKind::kAuto;
  // See GraphImportOptions.
  bool allow_unknown_ops = false;
  // The devices of each type. By default the session has one CPU, and all accelerators whose device
  // type is linked in.
  DeviceOptions devices;
  // Logs the device of each node when a graph is planned.
  bool log_device_placement = false;
  // The accuracy and reproducibility of matrix products and convolutions.
  Numerics numerics = Numerics::kFast;
  // Makes LoadSavedModel() call FreezeVariables() with the signatures of the model. Only callers
  // that run nothing but the signatures may set it.
  bool freeze_variables = false;
};

struct RunOptions {
  // A run that takes longer fails with DEADLINE_EXCEEDED.
  absl::Duration timeout = absl::InfiniteDuration();
  // Fills RunMetadata's step_stats.
  bool collect_stats = false;
  // Runs small graphs wholly on the calling thread, which then gets no inter-op parallelism.
  bool run_on_caller = true;
  // Cancels the run when the caller cancels it. May be null.
  CancellationManager* cancellation = nullptr;
  // If not null, a callable that lets runs wait for each other notes here how long this one waited
  // before it began.
  absl::Duration* queued = nullptr;
};

// A run whose feeds, fetches and targets were compiled once. Running it looks up no names.
// Thread-safe.
class Callable {
 public:
  virtual ~Callable() = default;
  // Takes the feeds in the order of the signature. Their dtypes are checked, their shapes are not.
  // Errors: INVALID_ARGUMENT "... expects NAME to be float but string is provided"; errors of
  // kernels.
  virtual absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                           std::vector<Tensor>* fetches,
                           tensorflow::RunMetadata* metadata = nullptr) const = 0;
  virtual const RunSignature& signature() const = 0;
};

using NamedTensor = std::pair<std::string, Tensor>;

// Thread-safe. Extend() does not wait for running steps, which keep the graph they started with.
class Session {
 public:
  // `graph` is what the session starts with; it starts empty if that is null. Sessions may share
  // it. Errors: those of MakeDevices(), and of PlaceResources() for a graph.
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      const SessionOptions& options, std::shared_ptr<const Graph> graph = nullptr);
  virtual ~Session() = default;

  // Adds the nodes and functions of `graph_def` to the graph. Errors: those of ImportGraph(), after
  // which the graph is unchanged.
  virtual absl::Status Extend(const tensorflow::GraphDef& graph_def) = 0;

  // Runs what the fetches and targets need. Feeds and fetches are named "node:index" or "node",
  // targets "node". What is compiled for a signature is kept for later runs with the same one.
  // Errors: NOT_FOUND for unknown names; FAILED_PRECONDITION after Close(); errors of kernels.
  virtual absl::Status Run(const RunOptions& options, const std::vector<NamedTensor>& feeds,
                           const std::vector<std::string>& fetches,
                           const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
                           tensorflow::RunMetadata* metadata = nullptr) = 0;
  absl::Status Run(const std::vector<NamedTensor>& feeds, const std::vector<std::string>& fetches,
                   const std::vector<std::string>& targets, std::vector<Tensor>* outputs) {
    return Run(RunOptions(), feeds, fetches, targets, outputs);
  }

  // Compiles a run. The callable may outlive the session. Errors: those of Run().
  virtual absl::StatusOr<std::shared_ptr<const Callable>> MakeCallable(
      const RunSignature& signature) = 0;

  // A partial run declares all its feeds and fetches first. Each call of PartialRun() then feeds
  // some of them and fetches others, until all are used. Returns the handle of the run.
  // Errors: INVALID_ARGUMENT for a feed or fetch that was not declared, or was used before.
  virtual absl::StatusOr<std::string> PartialRunSetup(const RunSignature& signature) = 0;
  virtual absl::Status PartialRun(const std::string& handle, const std::vector<NamedTensor>& feeds,
                                  const std::vector<std::string>& fetches,
                                  std::vector<Tensor>* outputs) = 0;

  // The caller promises that only the runs in `runs` write variables from now on. Variables that
  // none of them may write are constants in all runs that are compiled later, so that passes can
  // fold and pack them. A run whose names are not in the graph writes nothing. Errors:
  // FAILED_PRECONDITION for a second call; errors of functions that cannot be instantiated.
  virtual absl::Status FreezeVariables(const std::vector<RunSignature>& /*runs*/) {
    return absl::UnimplementedError("this session cannot freeze variables");
  }

  virtual std::vector<const Device*> ListDevices() const = 0;
  virtual ResourceManager& resources() = 0;
  // Cancels the running steps. Later runs fail with FAILED_PRECONDITION.
  virtual absl::Status Close() = 0;
};

}  // namespace tessera
