#include "serving/frontend/grpc/grpc_waker.h"

#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include "runtime/host/shared_blocks.h"

namespace tessera::serving {

// Every call on a channel without credentials fails.
GrpcWaker::GrpcWaker(absl::Duration interval)
    : nowhere_(grpc::CreateChannel("", nullptr)), thread_([this, interval] { Run(interval); }) {}

GrpcWaker::~GrpcWaker() {
  stopped_.Notify();
  thread_.join();
}

void GrpcWaker::Run(absl::Duration interval) {
  pthread_setname_np(pthread_self(), "grpc_waker");
  while (!stopped_.WaitForNotificationWithTimeout(interval)) {
    Wake();
    if (events_ % kEventsPerCleaning == 0) shared_blocks.GiveBackIdle();
  }
}

void GrpcWaker::Wake() {
  grpc::ClientContext context;
  const grpc::Slice no_bytes;
  const grpc::ByteBuffer request(&no_bytes, 1);
  grpc::ByteBuffer response;
  absl::Notification seen;
  nowhere_.UnaryCall(&context, "/", {}, &request, &response,
                     [&seen](const grpc::Status&) { seen.Notify(); });
  seen.WaitForNotification();
  ++events_;
}

}  // namespace tessera::serving
