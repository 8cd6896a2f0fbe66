// GrpcCall: one unary call of gRPC's callback API, and the translation of its status and limits.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/framework/cancellation.h"
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

}  // namespace tessera::serving
