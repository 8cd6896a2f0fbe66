#include "runtime/session/queue_threads.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<QueueThreads>> QueueThreads::Start(
    const std::vector<QueueRunner>& runners, Session& session, CancellationManager* cancellation) {
  std::unique_ptr<QueueThreads> made(new QueueThreads(cancellation));
  std::vector<std::pair<Queue*, std::shared_ptr<const Callable>>> runs;
  for (const QueueRunner& runner : runners) {
    Queue queue{.name = runner.queue, .end_codes = runner.end_codes};
    queue.num_running = static_cast<int>(runner.enqueue.size());
    ASSIGN_OR_RETURN(queue.close, session.MakeCallable({.targets = {runner.close}}));
    ASSIGN_OR_RETURN(queue.cancel, session.MakeCallable({.targets = {runner.cancel}}));
    made->queues_.push_back(std::move(queue));
    for (const std::string& target : runner.enqueue) {
      ASSIGN_OR_RETURN(auto enqueue, session.MakeCallable({.targets = {target}}));
      runs.emplace_back(&made->queues_.back(), std::move(enqueue));
    }
  }
  for (auto& [queue, enqueue] : runs) {
    made->threads_.emplace_back([threads = made.get(), queue = queue,
                                 enqueue = std::move(enqueue)] { threads->Fill(queue, *enqueue); });
  }
  if (cancellation == nullptr) return made;
  made->is_registered_ =
      cancellation->Register([threads = made.get()] { threads->Cancel(); }, &made->token_);
  if (!made->is_registered_) made->Cancel();
  return made;
}

QueueThreads::~QueueThreads() {
  if (is_registered_) callers_->Deregister(token_);
  Cancel();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status QueueThreads::status() const {
  absl::MutexLock lock(&mu_);
  return status_;
}

void QueueThreads::Fill(Queue* queue, const Callable& enqueue) {
  absl::Status ended;
  while (ended.ok()) ended = enqueue.Run({.cancellation = &cancellation_}, {}, nullptr);
  if (cancellation_.IsCancelled()) return;
  if (std::ranges::count(queue->end_codes, ended.code()) == 0) {
    {
      absl::MutexLock lock(&mu_);
      status_.Update(Annotate(ended, absl::StrCat("queue '", queue->name, "': ")));
    }
    return Cancel();
  }
  {
    absl::MutexLock lock(&mu_);
    if (--queue->num_running > 0) return;
  }
  const absl::Status closed = queue->close->Run({}, {}, nullptr);
  absl::MutexLock lock(&mu_);
  status_.Update(closed);
}

void QueueThreads::Cancel() {
  cancellation_.Cancel();
  // A queue that is closed already is no matter.
  for (const Queue& queue : queues_) queue.cancel->Run({}, {}, nullptr).IgnoreError();
}

}  // namespace tessera
