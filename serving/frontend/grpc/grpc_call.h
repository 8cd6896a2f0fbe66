// GrpcCall and MessageCall: one unary call of gRPC's callback API, and the translation of its
// messages, status and limits.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Codes are the same numbers. Messages are cut at 1024 bytes, with "...TRUNCATED" after them: they
// travel as headers, whose size clients limit.
grpc::Status ToGrpcStatus(const absl::Status& status);

// Lives from the arrival of a request until its reply has gone; deletes itself.
//
//   auto* call = new GrpcCall(context);
//   pool.Schedule([=] { call->End(Answer(*request, call->options(), response)); });
//   return call;
//
// A call that its client gave up cancels the run that answers it.
class GrpcCall : public grpc::ServerUnaryReactor {
 public:
  explicit GrpcCall(const grpc::CallbackServerContext* context);

  // The client's deadline, and cancellation. Valid until End().
  CallOptions options() { return {.deadline = deadline_, .cancellation = &cancellation_}; }
  absl::Time start() const { return start_; }

  // Sends the response, or the error. Exactly once; nothing of the call may be used afterwards.
  void End(const absl::Status& status) { Finish(ToGrpcStatus(status)); }

 private:
  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override { delete this; }
  // Both are too little for a thread of their own, which is what gRPC gives reactions otherwise:
  // two wake-ups, and a fifth of the time that a small request takes.
  bool InternalInlineable() override { return true; }

  const absl::Time start_;
  const absl::Time deadline_;
  CancellationManager cancellation_;
};

// What gRPC says of bytes that are not the message they should be: INTERNAL. It says so itself
// where calls have threads of their own; its callback API would make UNIMPLEMENTED of them.
absl::Status NotThisMessage(absl::string_view type_name);

// A call whose request and response are messages.
//
//   auto* call = new MessageCall<Request, Response>(context, response_bytes);
//   if (!call->Read(*request_bytes)) return call;
//   call->Reply(Answer(call->request, call->options(), &call->response));
//   return call;
template <typename Request, typename Response>
class MessageCall : public GrpcCall {
 public:
  MessageCall(const grpc::CallbackServerContext* context, grpc::ByteBuffer* response_bytes)
      : GrpcCall(context), response_bytes_(response_bytes) {}

  // Fills `request`. False, and the call has ended, if the bytes are no Request.
  bool Read(const grpc::ByteBuffer& bytes) {
    grpc::ByteBuffer consumed = bytes;
    const bool is_request =
        grpc::SerializationTraits<Request>::Deserialize(&consumed, &request).ok();
    if (!is_request) End(NotThisMessage(request.GetTypeName()));
    return is_request;
  }
  // As End(), with `response`.
  void Reply(const absl::Status& status) {
    if (!status.ok()) return End(status);
    bool is_own;
    Finish(grpc::SerializationTraits<Response>::Serialize(response, response_bytes_, &is_own));
  }

  Request request;
  Response response;

 private:
  grpc::ByteBuffer* const response_bytes_;
};

}  // namespace tessera::serving
