// GrpcCall and MessageCall: one unary call of gRPC's callback API, and the conversion of its
// messages and limits.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/exception_status.h"
#include "serving/frontend/grpc/grpc_status.h"
#include "serving/frontend/request_handler.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {

// Returns the client's deadline; the infinite future if it set none.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context);

// Returns the value of the first entry of the client's metadata that has a name, whose case is
// ignored; nullopt if there is none. A view of the context.
std::optional<absl::string_view> MetadataOf(const grpc::CallbackServerContext& context,
                                            absl::string_view name);

// Returns the ID of the distributed trace that the client's entry `traceparent` names, see
// traceparent.h; "" if there is none, or several. A view of the context.
absl::string_view TraceIdOf(const grpc::CallbackServerContext& context);

// A call, or a message of a stream, that has ended.
struct EndedGrpcCall {
  absl::string_view method;
  absl::string_view model_name;
  const RequestTimes& times;
  const absl::Status& status;
  size_t bytes_in;
  const grpc::ByteBuffer& response;  // empty if the status is an error of the call
};
// Notes it in the handler's logs: if it failed, and in the access log if there is one.
void NoteGrpcEnd(const RequestHandler& handler, const grpc::CallbackServerContext& context,
                 const EndedGrpcCall& ended);

// Lives from the arrival of a request until its reply was sent, and then deletes itself.
//
//   auto* call = new GrpcCall(context, *request, response, handler, "Predict");
//   pool.Schedule([=] { call->End(Answer(*request, call->options(), response)); });
//   return call;
//
// When the client gives up the call, the run that answers it is cancelled.
class GrpcCall : public grpc::ServerUnaryReactor {
 public:
  // `method` is what logs call the call, and must be static. `handler` has the logs. `response` is
  // what End() sends.
  GrpcCall(const grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
           const grpc::ByteBuffer* response, const RequestHandler* handler,
           absl::string_view method);

  // Returns the client's deadline and cancellation, and `times`. Valid until End().
  CallOptions options() {
    return {.deadline = deadline_, .cancellation = &cancellation_, .times = &times};
  }

  // See MetadataOf(). Valid until End().
  std::optional<absl::string_view> Metadata(absl::string_view name) const {
    return MetadataOf(*context_, name);
  }

  // Returns the ID of the distributed trace that the client's metadata name, see TraceIdOf(). Valid
  // until End().
  absl::string_view TraceId() const { return TraceIdOf(*context_); }

  // Notes how the call ended, and sends the response, or the error. Must be called exactly once.
  // The call must not be used after that.
  void End(const absl::Status& status) {
    NoteEnd(status);
    Finish(ToGrpcStatus(status));
  }

  RequestTimes times;
  // The model that the call names, for logs: a view of its request.
  absl::string_view model_name;

 protected:
  void NoteEnd(const absl::Status& status) const {
    NoteGrpcEnd(*handler_, *context_,
                {.method = method_,
                 .model_name = model_name,
                 .times = times,
                 .status = status,
                 .bytes_in = bytes_in_,
                 .response = *response_});
  }

 private:
  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { delete this; }
  // Lets gRPC call OnCancel() and OnDone() on the thread where they arise. Otherwise it hands them
  // to another thread, whose two wake-ups take a fifth of the time of a small request.
  bool InternalInlineable() override { return true; }

  const grpc::CallbackServerContext* const context_;
  const RequestHandler* const handler_;
  const absl::string_view method_;
  const size_t bytes_in_;  // counted if there is an access log
  const grpc::ByteBuffer* const response_;
  const absl::Time deadline_;
  CancellationManager cancellation_;
};

// The error for bytes that are not a message of this type: INTERNAL, as from gRPC's API with a
// thread for each call. Its callback API would return UNIMPLEMENTED.
absl::Status NotThisMessage(absl::string_view type_name);

// A call whose request and response are messages.
//
//   auto* call = new MessageCall<Request, Response>(context, *request_bytes, response_bytes,
//                                                  handler, "Classify");
//   if (!call->Read(*request_bytes)) return call;
//   call->ReplyWith([&] { return Answer(call->request, call->options(), &call->response); });
//   return call;
template <typename Request, typename Response>
class MessageCall : public GrpcCall {
 public:
  MessageCall(const grpc::CallbackServerContext* context, const grpc::ByteBuffer& request_bytes,
              grpc::ByteBuffer* response_bytes, const RequestHandler* handler,
              absl::string_view method)
      : GrpcCall(context, request_bytes, response_bytes, handler, method),
        response_bytes_(response_bytes) {}

  // Fills `request`. If the bytes are no Request, or need more memory than there is, ends the call
  // and returns false.
  bool Read(const grpc::ByteBuffer& bytes) {
    grpc::ByteBuffer consumed = bytes;
    size_bytes_ = bytes.Length();
    const absl::Status status = CatchExceptions(kTheRequest, [&] {
      const bool is_request =
          grpc::SerializationTraits<Request>::Deserialize(&consumed, &request).ok();
      return is_request ? absl::OkStatus() : NotThisMessage(request.GetTypeName());
    });
    if (!status.ok()) End(status);
    return status.ok();
  }
  // Returns the size of the message that was read.
  size_t size_bytes() const { return size_bytes_; }
  // Sends `response`, or the error, as End() does.
  void Reply(const absl::Status& status) {
    if (!status.ok()) return End(status);
    grpc::Status serialized;
    const absl::Status written = CatchExceptions(kTheRequest, [&] {
      bool is_own;
      serialized =
          grpc::SerializationTraits<Response>::Serialize(response, response_bytes_, &is_own);
      return absl::OkStatus();
    });
    if (!written.ok()) return End(written);
    NoteEnd(status);
    Finish(serialized);
  }
  // Sends the response that `answer()` has filled, or the error that it returns or throws.
  template <typename Answer>
  void ReplyWith(Answer answer) {
    Reply(CatchExceptions(kTheRequest, answer));
  }

  Request request;
  Response response;

 private:
  grpc::ByteBuffer* const response_bytes_;
  size_t size_bytes_ = 0;
};

}  // namespace tessera::serving
