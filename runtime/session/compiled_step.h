// A graph compiled for one signature.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/executor.h"
#include "runtime/graph/graph.h"
#include "runtime/session/session.h"
#include "runtime/session/session_state.h"

namespace tessera {

// Immutable and thread-safe. It keeps the state of the session alive, but not the session.
class CompiledStep final : public Callable {
 public:
  // Prunes, plans and compiles. Errors: those of Prune(), MakePlan() and CompilePlan().
  static absl::StatusOr<std::shared_ptr<const CompiledStep>> Make(
      std::shared_ptr<SessionState> state, const Graph& graph, const RunSignature& signature);

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override;
  const RunSignature& signature() const override { return signature_; }

 private:
  explicit CompiledStep(std::shared_ptr<SessionState> state, RunSignature signature)
      : state_(std::move(state)), signature_(std::move(signature)) {}

  absl::Status CheckFeeds(absl::Span<const Tensor> feeds) const;
  // Runs the program. A program that takes long on the CPU and never waits takes a turn (RunSlots).
  absl::Status RunInTurn(StepContext& context, const RunArgs& run) const;
  // Waits for the work that the run has enqueued on streams: a step ends when its work is done.
  absl::Status Synchronize() const;

  const std::shared_ptr<SessionState> state_;
  const RunSignature signature_;
  std::vector<DType> feed_types_;
  std::unique_ptr<Executor> executor_;
  std::vector<Stream*> streams_;  // of the devices that take part
  // The duration of the quickest recent run, roughly; 0 before the first run.
  mutable std::atomic<int64_t> usual_nanoseconds_{0};
};

// INVALID_ARGUMENT "feed 0: expects x:0 to be float but string is provided".
absl::Status CheckFeed(int index, const std::string& name, DType expected, const Tensor& given);

// Plans and compiles the graph of `input` for an executor of `kind`. Adds the streams of the
// devices that take part to *streams.
absl::StatusOr<std::unique_ptr<Executor>> PlanAndCompile(SessionState& state, PlanInput input,
                                                         ExecutorKind kind,
                                                         std::vector<Stream*>* streams);

}  // namespace tessera
