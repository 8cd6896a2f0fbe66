// DispatchRead and DispatchCall: read the message of a call, find its model and answer it, each on
// the thread that suits it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "runtime/base/exception_status.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/admit.h"
#include "serving/frontend/request_handler.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {

// A request is answered on the thread that read it if it is small, and its signature typically runs
// for less than this, which is about ten times what handing it to another thread costs.
inline constexpr absl::Duration kInlineRunTime = absl::Microseconds(200);
// Copying this much into tensors takes about as long.
inline constexpr size_t kInlineBytes = 512 << 10;

// Calls `read()`, which parses `message` and goes on with the call, on this thread of gRPC's; on
// the pool if the message is so large that other calls would notice how long parsing holds the
// thread. `read()` must not throw. The model is not known before that, so the closure belongs to no
// model's share. `message` must live until the call ends, as gRPC's requests do.
template <typename Call, typename Read>
void DispatchRead(RequestPool* pool, Call* call, const grpc::ByteBuffer& message, Read read) {
  if (message.Length() <= kInlineBytes) [[likely]]
    return read();
  pool->Schedule(NotingWait(&call->times, std::move(read)));
}

// The handler that a call is recorded by, the pool for calls that take long, and the names under
// which the call is recorded.
struct CallDispatch {
  RequestHandler* handler;
  RequestPool* pool;
  RequestMethod method;
  absl::string_view api;
};

// Answers a call with an error, and records it.
template <typename Call>
void RefuseCall(const CallDispatch& dispatch, Call* call, absl::string_view model_name,
                const absl::Status& error) {
  dispatch.handler->RecordRequest(Entrypoint::kGrpc, dispatch.api, model_name, error, call->times,
                                  [call] { return call->TraceId(); });
  call->model = RoutedModel();
  call->Reply(error);
}

// Answers a call whose model was found and has admitted it, and records it: on the pool, or here if
// it may run here and does not take long. See DispatchCall().
template <typename Call, typename Answer>
void AnswerCall(const CallDispatch& dispatch, Call* call, absl::string_view model_name,
                Answer answer, bool may_run_here) {
  const absl::string_view signature = call->signature_name();
  const bool runs_here = may_run_here && call->size_bytes() <= kInlineBytes &&
                         call->model->TypicalRunTime(signature) < kInlineRunTime;
  auto answer_and_reply = [dispatch, call, model_name, signature, answer = std::move(answer)] {
    const absl::Status status =
        CatchExceptions(kTheRequest, [&] { return answer(*call, call->model); });
    if (dispatch.handler->FallBack(status, {signature}, call->options(), &call->model)) {
      return AnswerCall(dispatch, call, model_name, answer, /*may_run_here=*/true);
    }
    dispatch.handler->RecordRequest(Entrypoint::kGrpc, dispatch.api, model_name, status,
                                    call->times, [call] { return call->TraceId(); });
    // Released before the reply is sent, so that a slow client does not keep the version loaded.
    call->model = RoutedModel();
    call->Reply(status);
  };
  if (runs_here) {
    answer_and_reply();
  } else {
    dispatch.pool->Schedule(dispatch.handler->ShareOf(model_name),
                            NotingWait(&call->times, std::move(answer_and_reply)));
  }
}

// Answers a call by `answer(call, model)`, here or on the pool, and records it; if a candidate
// fails, the stable version is asked once more. `find(spec, keys)` finds its model, whose limits
// may make the call wait, without a thread, or refuse it. A call has these members:
//
//   absl::StatusOr<ModelSpec> model_spec() const;  // the model that it asks for
//   absl::string_view signature_name() const;      // that it runs, once the model is found
//   size_t size_bytes() const;                     // of its message
//   std::optional<absl::string_view> Metadata(absl::string_view name) const;
//   absl::string_view TraceId() const;
//   CallOptions options();
//   void Reply(const absl::Status& status);        // after which it must not be used any more
//   RequestTimes times;
//   absl::string_view model_name;                  // set here, for what the call notes of its end
//   RoutedModel model;                             // set here, released before the reply is sent
template <typename Call, typename Find, typename Answer>
void DispatchCall(const CallDispatch& dispatch, Call* call, Find find, Answer answer) {
  const absl::StatusOr<ModelSpec> spec = call->model_spec();
  const absl::string_view model_name = spec.ok() ? spec->name : absl::string_view();
  call->model_name = model_name;
  const auto refuse = [dispatch, call, model_name](const absl::Status& error) {
    RefuseCall(dispatch, call, model_name, error);
  };
  if (!spec.ok()) return refuse(spec.status());
  const auto keys = [call](absl::string_view name) { return call->Metadata(name); };
  absl::StatusOr<RoutedModel> found = find(*spec, keys);
  if (!found.ok()) return refuse(found.status());
  call->times.cell = &(*found)->request_stats().Begin(dispatch.method, Entrypoint::kGrpc);
  call->times.version = found->version();
  call->model = *std::move(found);
  if (const absl::Status fits = CheckBytes(call->model, call->size_bytes()); !fits.ok())
    return refuse(fits);
  Admit(
      call, [call] { return call->options(); },
      [dispatch, call, model_name, answer](bool here) {
        AnswerCall(dispatch, call, model_name, answer, here);
      },
      refuse);
}

}  // namespace tessera::serving
