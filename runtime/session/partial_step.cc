#include "runtime/session/partial_step.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/session/compiled_step.h"

namespace tessera {
namespace {

constexpr absl::string_view kClient = "client";

// The key under which feed or fetch `name` crosses. Both ends are the client and the graph, so one
// name serves both directions; a tensor may be fed and fetched.
std::string KeyOf(absl::string_view direction, absl::string_view name) {
  return RendezvousKey(kClient, 1, kClient, absl::StrCat(direction, " ", name), 0, 0);
}

AttrMap ChannelAttrs(absl::string_view direction, absl::string_view name) {
  AttrMap attrs;
  attrs["tensor_name"] = absl::StrCat(direction, " ", name);
  attrs["send_device"] = std::string(kClient);
  attrs["recv_device"] = std::string(kClient);
  attrs["send_device_incarnation"] = int64_t{1};
  attrs["client_terminated"] = true;
  return attrs;
}

// Replaces an argument by a Recv.
absl::Status ReceiveArg(const std::string& name, Node* arg, Graph* graph) {
  AttrMap attrs = ChannelAttrs("feed", name);
  attrs["tensor_type"] = arg->output_type(0);
  ASSIGN_OR_RETURN(Node * recv,
                   graph->AddNode(graph->UniqueName(absl::StrCat(arg->name(), "/recv")), "_Recv",
                                  std::move(attrs), arg->device()));
  RETURN_IF_ERROR(graph->ReplaceUses({arg, 0}, {recv, 0}));
  graph->MoveControlOutputs(arg, recv);
  graph->Remove(arg);
  return absl::OkStatus();
}

// Replaces a result by a Send.
absl::StatusOr<Node*> SendResult(const std::string& name, Node* result, Graph* graph) {
  AttrMap attrs = ChannelAttrs("fetch", name);
  attrs["T"] = RemoveRef(result->input_type(0));
  ASSIGN_OR_RETURN(Node * send,
                   graph->AddNode(graph->UniqueName(absl::StrCat(result->name(), "/send")), "_Send",
                                  std::move(attrs), {result->input(0)}, result->device()));
  for (Node* control : result->control_inputs()) graph->AddControlEdge(control, send);
  graph->Remove(result);
  return send;
}

}  // namespace

PartialStep::PartialStep(std::shared_ptr<SessionState> state)
    : state_(std::move(state)), step_(*state_, RunOptions()) {}

absl::StatusOr<std::shared_ptr<PartialStep>> PartialStep::Start(std::shared_ptr<SessionState> state,
                                                                const Graph& graph,
                                                                const RunSignature& signature) {
  ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(graph, signature));
  std::shared_ptr<PartialStep> run(new PartialStep(std::move(state)));
  RETURN_IF_ERROR(run->step_.CheckStart());
  {
    absl::MutexLock lock(&run->mu_);
    absl::flat_hash_map<const Node*, std::string> names;
    for (size_t i = 0; i < pruned.args.size(); ++i) {
      names[pruned.args[i]] = signature.feeds[i];
      run->feeds_[signature.feeds[i]].dtype = pruned.args[i]->output_type(0);
    }
    for (size_t i = 0; i < pruned.results.size(); ++i) {
      Fetch& fetch = run->fetches_[signature.fetches[i]];
      for (const Node* node : Ancestors(*pruned.graph, {pruned.results[i]})) {
        auto it = names.find(node);
        if (it != names.end()) fetch.feeds.push_back(it->second);
      }
    }
  }
  for (size_t i = 0; i < pruned.args.size(); ++i) {
    RETURN_IF_ERROR(ReceiveArg(signature.feeds[i], pruned.args[i], pruned.graph.get()));
  }
  std::vector<Node*> targets = pruned.targets;
  for (size_t i = 0; i < pruned.results.size(); ++i) {
    ASSIGN_OR_RETURN(Node * send,
                     SendResult(signature.fetches[i], pruned.results[i], pruned.graph.get()));
    targets.push_back(send);
  }
  const auto input = [&]() -> absl::StatusOr<PlanInput> {
    return PlanInput{
        .graph = std::move(pruned.graph), .args = {}, .results = {}, .targets = std::move(targets)};
  };
  ASSIGN_OR_RETURN(PlannedExecutor planned,
                   PlanAndCompile(*run->state_, "", input, ExecutorKind::kDataflow));
  run->executor_ = std::move(planned.executor);
  if (!planned.devices.empty()) {
    run->step_.context().inter_op_pool = &run->state_->host->inter_op_pool();
  }
  {
    absl::MutexLock lock(&run->mu_);
    run->is_started_ = true;
  }
  PartialStep* const self = run.get();
  run->executor_->RunAsync(run->step_.context(), RunArgs(), [self](absl::Status status) {
    absl::MutexLock lock(&self->mu_);
    self->status_ = std::move(status);
    self->is_done_ = true;
  });
  return run;
}

PartialStep::~PartialStep() {
  bool is_running;
  {
    absl::MutexLock lock(&mu_);
    is_running = is_started_ && !is_done_;
  }
  if (is_running) step_.Cancel(absl::CancelledError("the partial run was abandoned"));
  absl::MutexLock lock(&mu_);
  if (is_started_) mu_.Await(absl::Condition(&is_done_));
}

absl::Status PartialStep::CheckUse(const std::vector<NamedTensor>& feeds,
                                   const std::vector<std::string>& fetches) {
  absl::flat_hash_set<std::string> now;
  for (const auto& [name, tensor] : feeds) {
    auto it = feeds_.find(name);
    if (it == feeds_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("feed '", name, "' was not declared when the partial run was set up"));
    }
    if (it->second.is_used || !now.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' was fed before"));
    }
    RETURN_IF_ERROR(CheckFeed(static_cast<int>(now.size()) - 1, name, it->second.dtype, tensor));
  }
  absl::flat_hash_set<std::string> fetched_now;
  for (const std::string& name : fetches) {
    auto it = fetches_.find(name);
    if (it == fetches_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("fetch '", name, "' was not declared when the partial run was set up"));
    }
    if (it->second.is_used || !fetched_now.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' was fetched before"));
    }
    for (const std::string& feed : it->second.feeds) {
      if (!feeds_.at(feed).is_used && !now.contains(feed)) {
        return absl::InvalidArgumentError(
            absl::StrCat("fetch '", name, "' depends on '", feed, "', which has not been fed"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status PartialStep::Continue(const std::vector<NamedTensor>& feeds,
                                   const std::vector<std::string>& fetches,
                                   std::vector<Tensor>* outputs) {
  {
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(CheckUse(feeds, fetches));
    for (const auto& [name, tensor] : feeds) feeds_.at(name).is_used = true;
    for (const std::string& name : fetches) fetches_.at(name).is_used = true;
  }
  for (const auto& [name, tensor] : feeds) {
    RETURN_IF_ERROR(step_.rendezvous().Send(KeyOf("feed", name), tensor, /*is_dead=*/false));
  }
  RETURN_IF_ERROR(Fetched(fetches, outputs));
  // The last call also waits for the targets.
  if (!IsOver()) return absl::OkStatus();
  absl::MutexLock lock(&mu_);
  if (!mu_.AwaitWithTimeout(absl::Condition(&is_done_), state_->options.default_timeout)) {
    return absl::DeadlineExceededError("the targets of the partial run did not end in time");
  }
  return status_;
}

absl::Status PartialStep::Fetched(const std::vector<std::string>& fetches,
                                  std::vector<Tensor>* outputs) {
  struct Waiting {
    absl::Mutex mu;
    int missing ABSL_GUARDED_BY(mu) = 0;
    absl::Status status ABSL_GUARDED_BY(mu);
    std::vector<Tensor> tensors ABSL_GUARDED_BY(mu);
  };
  // Shared: after a timeout a tensor may still come.
  auto waiting = std::make_shared<Waiting>();
  {
    absl::MutexLock lock(&waiting->mu);
    waiting->missing = static_cast<int>(fetches.size());
    waiting->tensors.resize(fetches.size());
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    step_.rendezvous().RecvAsync(
        KeyOf("fetch", fetches[i]),
        [waiting, i, name = fetches[i]](absl::Status status, Tensor tensor, bool is_dead) {
          if (status.ok() && is_dead) {
            status = absl::InvalidArgumentError(absl::StrCat(
                "'", name, "' has no value: it comes from a branch that was not taken"));
          }
          absl::MutexLock lock(&waiting->mu);
          if (waiting->status.ok()) waiting->status = std::move(status);
          waiting->tensors[i] = std::move(tensor);
          --waiting->missing;
        });
  }
  auto is_there = [&waiting]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return waiting->missing == 0; };
  const absl::Condition there(&is_there);
  const absl::Duration timeout = state_->options.default_timeout;
  absl::MutexLock lock(&waiting->mu);
  if (!waiting->mu.AwaitWithTimeout(there, timeout)) {
    return absl::DeadlineExceededError("a fetch of the partial run did not come in time");
  }
  RETURN_IF_ERROR(waiting->status);
  if (outputs != nullptr) *outputs = std::move(waiting->tensors);
  return absl::OkStatus();
}

bool PartialStep::IsOver() const {
  absl::MutexLock lock(&mu_);
  if (is_done_ && !status_.ok()) return true;
  for (const auto& [name, feed] : feeds_) {
    if (!feed.is_used) return false;
  }
  for (const auto& [name, fetch] : fetches_) {
    if (!fetch.is_used) return false;
  }
  return true;
}

}  // namespace tessera
