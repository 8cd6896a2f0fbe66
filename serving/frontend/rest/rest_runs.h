// RestRuns: on which thread, for how long, and until when REST requests run their models.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/admit.h"
#include "serving/frontend/request_handler.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {

// Thread-safe.
class RestRuns {
 public:
  // About ten times the cost of handing a request to another thread.
  static constexpr absl::Duration kInlineRunTime = absl::Microseconds(200);
  // Reading a body of this size takes about as long.
  static constexpr size_t kInlineBodyBytes = 64 << 10;

  // `timeout` is the time limit of a request from its arrival; zero or less: none. The others must
  // outlive this object.
  RestRuns(absl::Duration timeout, const RequestHandler* handler, RequestPool* pool)
      : timeout_(timeout), handler_(handler), pool_(pool) {}

  // Lets `decode(*call)` read the body of a request and, if that returns true, `run(call)` answer
  // it, once its model admits it; otherwise `refuse(*call, status)` does. They happen here if the
  // body is quick to read and the model that was found runs for less than kInlineRunTime; else on
  // the pool. A call has the members `times`, `model`, which decode() sets, model_name() and
  // signature_name().
  template <typename Call, typename Decode, typename Run, typename Refuse>
  void Answer(std::shared_ptr<Call> call, bool quick_to_read, Decode decode, Run run,
              Refuse refuse) {
    if (!quick_to_read) {
      return Schedule(*call, [this, call, decode, run, refuse] {
        if (decode(*call)) RunAdmitted(call, run, refuse, /*on_pool=*/true);
      });
    }
    if (decode(*call)) RunAdmitted(std::move(call), run, refuse, /*on_pool=*/false);
  }
  // Lets `run(call)` answer a request that was admitted and whose body has been read, here or on
  // the pool.
  template <typename Call, typename Run>
  void Answer(std::shared_ptr<Call> call, Run run) {
    if (call->model->TypicalRunTime(call->signature_name()) < kInlineRunTime) return run(call);
    Schedule(*call, [call, run] { run(call); });
  }

  // Returns the options of a run on this thread.
  CallOptions Options(RequestTimes* times);
  // Makes all runs, present and future, fail with CANCELLED.
  void Cancel();

 private:
  template <typename Call, typename Run, typename Refuse>
  void RunAdmitted(std::shared_ptr<Call> call, Run run, Refuse refuse, bool on_pool) {
    Admit(
        call.get(), [this, call] { return Options(&call->times); },
        [this, call, run, on_pool](bool here) {
          if (!here) return Schedule(*call, [call, run] { run(call); });
          on_pool ? run(call) : Answer(call, run);
        },
        [call, refuse](const absl::Status& status) { refuse(*call, status); },
        [client = &call->request.client](std::function<void()> give_up) {
          if (const auto alive = client->lock()) alive->NotifyGone(std::move(give_up));
        });
  }
  template <typename Call, typename Closure>
  void Schedule(Call& call, Closure closure) {
    pool_->Schedule(handler_->ShareOf(call.model_name()),
                    NotingWait(&call.times, std::move(closure)));
  }

  const absl::Duration timeout_;
  const RequestHandler* const handler_;
  RequestPool* const pool_;
  // Each serves some of the threads, so that runs do not contend for one lock.
  struct alignas(64) Cancellation {
    CancellationManager manager;
  };
  std::array<Cancellation, 16> cancellations_;
};

}  // namespace tessera::serving
