// tensorflow.ProfilerService over gRPC: what TensorBoard captures profiles with.
#pragma once

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/profile/tracer.h"
#include "serving/core/elastic_pool.h"
#include "tsl/profiler/protobuf/profiler_service.grpc.pb.h"

namespace tessera::serving {

// Profile answers with a trace of the time after it was called, and Monitor with figures of that
// time. Neither writes files: a profile is answered as an XSpace if `emit_xspace` asks for one, and
// else as the file "xplane.pb", which the client stores. `host_tracer_level` 0 records nothing, 1
// requests and runs, 2 also ops; if `opts` is not set, ops are recorded.
//
// A call holds no thread while it records. It ends early when Terminate names its session, with
// what was recorded until then; if the client cancels it, what was recorded is thrown away. Errors:
// INVALID_ARGUMENT for a duration that is 0 or longer than kMaxDuration; ALREADY_EXISTS if another
// call records.
//
// Thread-safe.
class ProfilerService final : public tensorflow::ProfilerService::CallbackService {
 public:
  static constexpr absl::Duration kMaxDuration = absl::Hours(1);

  // `tracer` must outlive the service, and the service the server that it belongs to.
  explicit ProfilerService(Tracer* tracer) : tracer_(tracer) {}

  grpc::ServerUnaryReactor* Profile(grpc::CallbackServerContext* context,
                                    const tensorflow::ProfileRequest* request,
                                    tensorflow::ProfileResponse* response) override;
  grpc::ServerUnaryReactor* Monitor(grpc::CallbackServerContext* context,
                                    const tensorflow::MonitorRequest* request,
                                    tensorflow::MonitorResponse* response) override;
  grpc::ServerUnaryReactor* Terminate(grpc::CallbackServerContext* context,
                                      const tensorflow::TerminateRequest* request,
                                      tensorflow::TerminateResponse* response) override;

  // Ends all calls early, so that they do not hold up a server that shuts down.
  void EndCalls() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Recording;
  class Call;

  grpc::ServerUnaryReactor* Record(Recording recording);
  void EndCalls(absl::FunctionRef<bool(const Call&)> which) ABSL_LOCKS_EXCLUDED(mu_);

  Tracer* const tracer_;
  absl::Mutex mu_;
  std::set<Call*> calls_ ABSL_GUARDED_BY(mu_);  // those that were not answered
  ElasticPool pool_{{.name = "profiler"}};      // ends first
};

}  // namespace tessera::serving
