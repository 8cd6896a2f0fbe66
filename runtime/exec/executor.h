// Executors: a graph, compiled once, run many times.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/node_memory.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

class KernelStore;         // runtime/exec/kernel_store.h
enum class PartsMeet;      // runtime/exec/partitioned_executor.h
struct Plan;               // runtime/exec/planner.h
class StepStatsCollector;  // runtime/exec/step_stats.h

// The inputs and outputs of one run, by position.
struct RunArgs {
  absl::Span<const Tensor> args;  // one an `_Arg` node, by its `index`
  // If not empty, these are the arguments instead of `args`, and the run takes them: kernels may
  // then work in their memory. They are unspecified afterwards.
  absl::Span<Tensor> consumed_args;
  // One a `_Retval` node, by its `index`; made larger if it is too short, so executors that share
  // one vector need it in full size.
  std::vector<Tensor>* results = nullptr;
  StepStatsCollector* stats = nullptr;  // null: nothing is recorded
};

// A compiled graph. Thread-safe: any number of runs at once.
class Executor {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  virtual ~Executor() = default;
  // `step` and what `run` points to must live until `done` is called, exactly once, possibly before
  // RunAsync returns. A kernel's error is prefixed with "{{node NAME}} "; the first error cancels
  // the step and is the result. Ends with CANCELLED if the step is cancelled. Does not watch the
  // deadline while kernels wait: whoever waits for `done` does.
  virtual void RunAsync(StepContext& step, const RunArgs& run, DoneCallback done) const = 0;
  // The same on this thread, which also runs whatever else becomes ready if the step has no
  // inter_op_pool. Ends with DEADLINE_EXCEEDED soon after the step's deadline.
  virtual absl::Status Run(StepContext& step, const RunArgs& run) const = 0;

  // True if some node waits for what happens outside the step (a queue, a Recv), so that a caller
  // had better not block a thread in Run().
  virtual bool may_wait() const = 0;
  virtual int num_args() const = 0;
  virtual int num_results() const = 0;
};

enum class ExecutorKind {
  kAuto,             // straight-through where it can be, else dataflow
  kStraightThrough,  // INVALID_ARGUMENT if the graph has v1 control flow or asynchronous kernels
  kDataflow,
};

struct CompileOptions {
  ExecutorKind kind = ExecutorKind::kAuto;
  Device* device = nullptr;  // where the kernels run; must outlive the executor
  BoundaryMemory boundary;   // where arguments and results lie
  Numerics numerics = Numerics::kFast;
  ThreadPool* pool = nullptr;            // for OpKernel::Prepare(); null: the calling thread
  FunctionRuntime* functions = nullptr;  // must outlive the executor
  // Kernels of stateful nodes that several executors share; null: every executor has its own.
  KernelStore* kernels = nullptr;
};

// Compiles a graph with `_Arg` and `_Retval` nodes: creates kernels and resolves everything that
// does not depend on a run. The graph is not kept.
// Errors: UNIMPLEMENTED listing every op without a kernel, with its nodes, in one message; those of
// kernel constructors, naming the node; INVALID_ARGUMENT for unconnected inputs, two arguments or
// results of one index, cycles, or v1 loops that are not well formed.
absl::StatusOr<std::unique_ptr<Executor>> Compile(const Graph& graph,
                                                  const CompileOptions& options);

// Compiles all parts of a plan into one executor. `options.device` and `options.boundary` are the
// plan's business; parts are looked up among `devices`. Errors: as above; INVALID_ARGUMENT for a
// part whose device is not there.
absl::StatusOr<std::unique_ptr<Executor>> CompilePlan(const Plan& plan,
                                                      absl::Span<Device* const> devices,
                                                      PartsMeet meet, CompileOptions options);

}  // namespace tessera
