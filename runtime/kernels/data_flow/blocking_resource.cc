#include "runtime/kernels/data_flow/blocking_resource.h"

#include <utility>

namespace tessera {
namespace {

absl::Status CancelledError() {
  return absl::CancelledError("the step was cancelled while it waited");
}

}  // namespace

void BlockingResource::Run(int lane, CancellationManager* cancellation, Attempt attempt, Done done,
                           std::function<void()> undo) {
  if (cancellation != nullptr && cancellation->IsCancelled()) {
    done(CancelledError());
    return;
  }
  // The callback may come before the operation is in its lane, and finds nothing then: this is why
  // it is asked once more whether the step is cancelled.
  CancellationManager::Token token = 0;
  int64_t id;
  {
    absl::MutexLock lock(&mu_);
    id = next_id_++;
  }
  if (cancellation != nullptr &&
      !cancellation->Register(
          [self = IntrusivePtr<BlockingResource>(this), id] { self->Cancel(id); }, &token)) {
    done(CancelledError());
    return;
  }
  std::list<Operation> ended;
  {
    absl::MutexLock lock(&mu_);
    const bool is_cancelled = cancellation != nullptr && cancellation->IsCancelled();
    std::list<Operation>& place = is_cancelled ? ended_ : lanes_[lane].waiting;
    place.push_back({id, std::move(attempt), std::move(done), std::move(undo), cancellation, token,
                     is_cancelled ? CancelledError() : absl::OkStatus()});
    TryAll();
    ended.swap(ended_);
  }
  Finish(std::move(ended));
}

absl::Status BlockingResource::Change(absl::FunctionRef<absl::Status()> change) {
  std::list<Operation> ended;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    status = change();
    TryAll();
    ended.swap(ended_);
  }
  Finish(std::move(ended));
  return status;
}

void BlockingResource::Fail(int lane, const absl::Status& status) {
  std::list<Operation>& waiting = lanes_[lane].waiting;
  while (!waiting.empty()) End(waiting, waiting.begin(), status);
}

void BlockingResource::End(std::list<Operation>& lane, std::list<Operation>::iterator operation,
                           const absl::Status& status) {
  operation->status = status;
  if (operation->undo) operation->undo();
  ended_.splice(ended_.end(), lane, operation);
}

void BlockingResource::TryAll() {
  do {
    changed_ = false;
    for (Lane& lane : lanes_) {
      for (auto it = lane.waiting.begin(); it != lane.waiting.end();) {
        const auto operation = it++;
        std::optional<absl::Status> status = operation->attempt();
        if (!status.has_value()) {
          if (lane.order == Order::kFirstInFirstOut) break;
          continue;
        }
        operation->status = *std::move(status);
        ended_.splice(ended_.end(), lane.waiting, operation);
        changed_ = true;
      }
    }
  } while (changed_);
}

void BlockingResource::Finish(std::list<Operation> ended) {
  for (Operation& operation : ended) {
    if (operation.cancellation != nullptr) operation.cancellation->TryDeregister(operation.token);
    operation.done(std::move(operation.status));
  }
}

void BlockingResource::Cancel(int64_t id) {
  Change([&] {
    mu_.AssertHeld();
    for (Lane& lane : lanes_) {
      for (auto it = lane.waiting.begin(); it != lane.waiting.end(); ++it) {
        if (it->id != id) continue;
        End(lane.waiting, it, CancelledError());
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace tessera
