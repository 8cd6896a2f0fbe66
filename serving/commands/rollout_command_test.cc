// `tessera rollout` and a made-up admin service in this process.
#include "serving/commands/rollout_command.h"

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/admin.grpc.pb.h"

namespace tessera::serving {
namespace {

// Watches of events end at once with a status, or last until the client cancels them.
class Admin : public AdminService::CallbackService {
 public:
  Admin(const grpc::Status& list_status, std::optional<grpc::Status> watch_status)
      : list_status_(list_status), watch_status_(std::move(watch_status)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Admin() override { server_->Shutdown(); }

  grpc::ServerUnaryReactor* ListRollouts(grpc::CallbackServerContext* context,
                                         const ListRolloutsRequest*,
                                         ListRolloutsResponse*) override {
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(list_status_);
    return reactor;
  }
  grpc::ServerWriteReactor<RolloutEvent>* WatchEvents(grpc::CallbackServerContext*,
                                                      const WatchEventsRequest*) override {
    return new Watch(watch_status_);
  }

  // Returns the status of `tessera rollout status --watch`.
  absl::Status RunWatch() const {
    Command command = RolloutCommand();
    const absl::Status parsed =
        command.flags.Parse({"--watch", absl::StrCat("--admin=127.0.0.1:", port_)});
    return parsed.ok() ? command.run({"status"}) : parsed;
  }

 private:
  class Watch : public grpc::ServerWriteReactor<RolloutEvent> {
   public:
    explicit Watch(const std::optional<grpc::Status>& status) : waits_(!status) {
      status ? Finish(*status) : StartSendInitialMetadata();
    }
    void OnCancel() override {
      if (waits_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    const bool waits_;
  };

  const grpc::Status list_status_;
  const std::optional<grpc::Status> watch_status_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(RolloutCommandTest, AWatchEndsWithTheStatusOfTheServer) {
  const Admin admin(grpc::Status::OK,
                    grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch"));
  EXPECT_EQ(admin.RunWatch(), absl::ResourceExhaustedError("too many watch"));
}

TEST(RolloutCommandTest, AWatchWhoseFirstStatusFailsIsCancelled) {
  const Admin admin(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no rollouts"), {});
  EXPECT_EQ(admin.RunWatch(), absl::FailedPreconditionError("no rollouts"));
}

}  // namespace
}  // namespace tessera::serving
