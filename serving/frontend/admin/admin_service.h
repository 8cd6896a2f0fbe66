// tessera.AdminService over gRPC.
#pragma once

#include "absl/strings/string_view.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/admin/admin_access.h"
#include "serving/frontend/admin/rollout_calls.h"
#include "serving/frontend/admin/rollout_feed.h"
#include "tessera/admin.grpc.pb.h"

namespace tessera::serving {

// Checks who asks, then answers on the threads of the pool, because an action may wait for others.
// Watching holds no thread. Thread-safe.
class AdminService final : public tessera::AdminService::CallbackService {
 public:
  // All must outlive the service.
  AdminService(const AdminAccess* access, const RolloutCalls* calls, RolloutFeed* feed,
               ElasticPool* pool)
      : access_(access), calls_(calls), feed_(feed), pool_(pool) {}

  grpc::ServerUnaryReactor* ListRollouts(grpc::CallbackServerContext* context,
                                         const ListRolloutsRequest* request,
                                         ListRolloutsResponse* response) override;
  grpc::ServerUnaryReactor* GetRollout(grpc::CallbackServerContext* context,
                                       const RolloutRequest* request,
                                       RolloutStatus* response) override;
  grpc::ServerUnaryReactor* Promote(grpc::CallbackServerContext* context,
                                    const RolloutRequest* request,
                                    RolloutStatus* response) override {
    return Act(&RolloutAdmin::Promote, context, request, response);
  }
  grpc::ServerUnaryReactor* Rollback(grpc::CallbackServerContext* context,
                                     const RolloutRequest* request,
                                     RolloutStatus* response) override {
    return Act(&RolloutAdmin::Rollback, context, request, response);
  }
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* context,
                                  const RolloutRequest* request, RolloutStatus* response) override {
    return Act(&RolloutAdmin::Pause, context, request, response);
  }
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* context,
                                   const RolloutRequest* request,
                                   RolloutStatus* response) override {
    return Act(&RolloutAdmin::Resume, context, request, response);
  }
  grpc::ServerWriteReactor<RolloutEvent>* WatchEvents(grpc::CallbackServerContext* context,
                                                      const WatchEventsRequest* request) override;

 private:
  // Answers with what `ask` returns, if the caller may ask.
  template <typename Response, typename Ask>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, Response* response,
                                   Ask ask);
  grpc::ServerUnaryReactor* Act(RolloutCalls::Action action, grpc::CallbackServerContext* context,
                                const RolloutRequest* request, RolloutStatus* response);

  const AdminAccess* const access_;
  const RolloutCalls* const calls_;
  RolloutFeed* const feed_;
  ElasticPool* const pool_;
};

}  // namespace tessera::serving
