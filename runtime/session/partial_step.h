// Partial runs, which are fed and fetched in several calls.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/session.h"
#include "runtime/session/session_state.h"

namespace tessera {

// One partial run. The graph receives its feeds and sends its fetches through a rendezvous, and
// runs as far as the feeds that have come allow.
//
//   ASSIGN_OR_RETURN(auto run, PartialStep::Start(state, graph, {{"a:0", "b:0"}, {"x:0", "y:0"},
//   {}})); RETURN_IF_ERROR(run->Continue({{"a:0", a}}, {"x:0"}, &outputs));
//   RETURN_IF_ERROR(run->Continue({{"b:0", b}}, {"y:0"}, &outputs));
//
// Thread-safe.
class PartialStep {
 public:
  // Errors: those of Prune() and Compile().
  static absl::StatusOr<std::shared_ptr<PartialStep>> Start(std::shared_ptr<SessionState> state,
                                                            const Graph& graph,
                                                            const RunSignature& signature);
  // Cancels the run if it has not ended, and waits for its end.
  ~PartialStep();

  // Errors: INVALID_ARGUMENT for a feed or fetch that was not declared or was used before, a feed
  // of another dtype, or a fetch that depends on a feed still to come; the run's own error.
  absl::Status Continue(const std::vector<NamedTensor>& feeds,
                        const std::vector<std::string>& fetches, std::vector<Tensor>* outputs);
  // True if the run cannot be continued: all feeds and fetches were used, or it has failed.
  bool IsOver() const;

 private:
  struct Feed {
    DType dtype = DType::kInvalid;
    bool is_used = false;
  };
  struct Fetch {
    std::vector<std::string> feeds;  // the feeds that it depends on
    bool is_used = false;
  };

  explicit PartialStep(std::shared_ptr<SessionState> state);
  absl::Status CheckUse(const std::vector<NamedTensor>& feeds,
                        const std::vector<std::string>& fetches) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Fetched(const std::vector<std::string>& fetches, std::vector<Tensor>* outputs);

  const std::shared_ptr<SessionState> state_;
  Step step_;
  std::unique_ptr<Executor> executor_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, Feed> feeds_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Fetch> fetches_ ABSL_GUARDED_BY(mu_);
  bool is_started_ ABSL_GUARDED_BY(mu_) = false;
  bool is_done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
