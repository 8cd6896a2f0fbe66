#include "serving/frontend/grpc/calls_under_way.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "absl/synchronization/notification.h"
#include "grpc_health/v1/health.grpc.pb.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

namespace health = grpc::health::v1;

// Answers a call when it is told to.
class HeldService final : public health::Health::CallbackService {
 public:
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const health::HealthCheckRequest*,
                                  health::HealthCheckResponse*) override {
    reactor = context->DefaultReactor();
    has_begun.Notify();
    return reactor;
  }

  grpc::ServerUnaryReactor* reactor = nullptr;
  absl::Notification has_begun;
};

// A server with one connection of a client that never sends anything.
class CallsUnderWayTest : public ::testing::Test {
 protected:
  CallsUnderWayTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    calls_.CountFor(&builder);
    server_ = builder.BuildAndStart();
    silent_ = Connect();
  }
  ~CallsUnderWayTest() override { close(silent_); }

  // Returns the client's end of a new connection.
  int Connect() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    grpc::AddInsecureChannelFromFd(server_.get(), ends[0]);
    return ends[1];
  }

  HeldService service_;
  CallsUnderWay calls_;
  std::unique_ptr<grpc::Server> server_;
  int silent_;
};

TEST_F(CallsUnderWayTest, SilentConnectionHoldsUpNoShutdown) {
  calls_.Shutdown(server_.get(), absl::InfiniteFuture());
}

// gRPC answers them by itself, with a context of another kind.
TEST_F(CallsUnderWayTest, CallsOfUnknownMethodsEnd) {
  grpc::GenericStub stub(grpc::CreateInsecureChannelFromFd("client", Connect()));
  const grpc::Slice message("x");
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    grpc::ByteBuffer request(&message, 1), response;
    absl::Notification has_ended;
    stub.UnaryCall(&context, "/any.Service/Method", {}, &request, &response,
                   [&](const grpc::Status& status) {
                     EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
                     has_ended.Notify();
                   });
    has_ended.WaitForNotification();
  }
  calls_.Shutdown(server_.get(), absl::InfiniteFuture());
}

TEST_F(CallsUnderWayTest, ACallKeepsConnectionsUntilItsAnswer) {
  const auto stub = health::Health::NewStub(grpc::CreateInsecureChannelFromFd("client", Connect()));
  grpc::ClientContext context;
  health::HealthCheckRequest request;
  health::HealthCheckResponse response;
  grpc::Status status;
  absl::Notification has_ended;
  stub->async()->Check(&context, &request, &response, [&](grpc::Status result) {
    status = std::move(result);
    has_ended.Notify();
  });
  service_.has_begun.WaitForNotification();
  int times = 0;
  calls_.Shutdown(server_.get(), absl::InfiniteFuture(), [&] {
    // Connections without calls would have ended by now.
    if (++times == 4) {
      EXPECT_FALSE(has_ended.HasBeenNotified());
      service_.reactor->Finish(grpc::Status::OK);
    }
  });
  has_ended.WaitForNotification();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GE(times, 4);
}

}  // namespace
}  // namespace tessera::serving
