// A graph compiled for one signature.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/step_streams.h"
#include "runtime/graph/graph.h"
#include "runtime/session/feed_upload.h"
#include "runtime/session/run_placement.h"
#include "runtime/session/session.h"
#include "runtime/session/session_state.h"

namespace tessera {

// Immutable and thread-safe. It keeps the state of the session alive, but not the session.
class CompiledStep final : public Callable, public FeedUploader, public PlacedRun {
 public:
  // Prunes, plans and compiles. Errors: those of Prune(), MakePlan() and CompilePlan().
  static absl::StatusOr<std::shared_ptr<const CompiledStep>> Make(
      std::shared_ptr<SessionState> state, const Graph& graph, const RunSignature& signature);

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override;
  const RunSignature& signature() const override { return signature_; }
  bool UploadsFeeds() const override;
  absl::StatusOr<std::vector<Tensor>> UploadFeeds(absl::Span<const Tensor> feeds) const override;
  const RunPlacement& placement() const override { return placement_; }

 private:
  explicit CompiledStep(std::shared_ptr<SessionState> state, RunSignature signature)
      : state_(std::move(state)), signature_(std::move(signature)) {}

  absl::Status CheckFeeds(absl::Span<const Tensor> feeds) const;
  // Runs the program. A program that takes long on the CPU and never waits takes a turn (RunSlots).
  absl::Status RunInTurn(StepContext& context, const RunArgs& run) const;
  // Takes a stream of each device with several for the step.
  absl::StatusOr<IntrusivePtr<StepStreams>> TakeStreams(Step& step) const;

  const std::shared_ptr<SessionState> state_;
  const RunSignature signature_;
  std::vector<DType> feed_types_;
  std::unique_ptr<Executor> executor_;
  std::vector<Device*> devices_;  // those with streams that take part
  // For each feed, the device that alone reads it; null: there is none.
  std::vector<Device*> feed_readers_;
  RunPlacement placement_;
  bool shares_state_ = false;  // SharesState()
  // The duration of the quickest recent run, roughly; 0 before the first run.
  mutable std::atomic<int64_t> usual_nanoseconds_{0};
};

// INVALID_ARGUMENT "feed 0: expects x:0 to be float but string is provided".
absl::Status CheckFeed(int index, const std::string& name, DType expected, const Tensor& given);

// The result of PlanAndCompile().
struct PlannedExecutor {
  std::unique_ptr<Executor> executor;
  std::vector<Device*> devices;  // those with streams that take part
  // For each argument, by its index, the device to which it is copied before anybody reads it.
  std::vector<Device*> arg_readers;
  RunPlacement placement;
  bool shares_state = false;  // SharesState()
  std::vector<DType> arg_types;
};

// Compiles the graph of `input()` for an executor of `kind`, by the plan that was kept for `run` if
// there is one. Plans of an empty `run` are not kept. Errors: those of `input`, MakePlan() and
// CompilePlan().
absl::StatusOr<PlannedExecutor> PlanAndCompile(SessionState& state, absl::string_view run,
                                               absl::FunctionRef<absl::StatusOr<PlanInput>()> input,
                                               ExecutorKind kind);

}  // namespace tessera
