// inference.GRPCInferenceService: KServe's protocol, version 2, over gRPC.
#pragma once

#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "inference/grpc_service.grpc.pb.h"
#include "serving/core/elastic_pool.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/kserve/model_repository.h"
#include "serving/frontend/kserve/wire_infer.h"
#include "serving/frontend/request_handler.h"

namespace tessera::serving {

template <typename Base>
using KServeAskMethods = inference::GRPCInferenceService::WithRawCallbackMethod_ServerLive<
    inference::GRPCInferenceService::WithRawCallbackMethod_ServerReady<
        inference::GRPCInferenceService::WithRawCallbackMethod_ModelReady<
            inference::GRPCInferenceService::WithRawCallbackMethod_ServerMetadata<
                inference::GRPCInferenceService::WithRawCallbackMethod_ModelMetadata<
                    inference::GRPCInferenceService::WithRawCallbackMethod_ModelConfig<
                        inference::GRPCInferenceService::WithRawCallbackMethod_ModelStatistics<
                            inference::GRPCInferenceService::WithRawCallbackMethod_TraceSetting<
                                inference::GRPCInferenceService::WithRawCallbackMethod_LogSettings<
                                    Base>>>>>>>>>;
template <typename Base>
using KServeControlMethods = inference::GRPCInferenceService::WithRawCallbackMethod_RepositoryIndex<
    inference::GRPCInferenceService::WithRawCallbackMethod_RepositoryModelLoad<
        inference::GRPCInferenceService::WithRawCallbackMethod_RepositoryModelUnload<Base>>>;
using KServeMethods = KServeAskMethods<
    KServeControlMethods<inference::GRPCInferenceService::WithRawCallbackMethod_ModelInfer<
        inference::GRPCInferenceService::WithRawCallbackMethod_ModelStreamInfer<
            inference::GRPCInferenceService::Service>>>>;

// Inferences are read where DispatchRead() puts them, and run where DispatchCall() does. Those of
// one stream are answered one after the other, in their order; one that fails is answered with its
// error, and the stream goes on. Thread-safe.
class KServeService final : public KServeMethods {
 public:
  // All must outlive the service.
  KServeService(RequestHandler* handler, ModelRepository* repository, RequestPool* pool)
      : handler_(handler), repository_(repository), pool_(pool) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Bytes = grpc::ByteBuffer;

  Reactor* ServerLive(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ServerReady(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ModelReady(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ServerMetadata(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ModelMetadata(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ModelConfig(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ModelStatistics(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* TraceSetting(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* LogSettings(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* RepositoryIndex(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* RepositoryModelLoad(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* RepositoryModelUnload(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ModelInfer(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerBidiReactor<Bytes, Bytes>* ModelStreamInfer(Context* context) override;

  // Ends with UNAVAILABLE the streams that have waited for a request since before `time`. They
  // would hold up a server that shuts down.
  void EndStreamsIdleSince(absl::Time time) ABSL_LOCKS_EXCLUDED(streams_mu_);

 private:
  class InferCall;
  class InferStream;

  // Finds the model of a call and answers it; see DispatchCall().
  template <typename Call>
  void Dispatch(Call* call, InferEnvelope envelope);

  RequestHandler* const handler_;
  ModelRepository* const repository_;
  RequestPool* const pool_;
  absl::Mutex streams_mu_;
  std::set<InferStream*> streams_ ABSL_GUARDED_BY(streams_mu_);
  // Few threads suffice, because loads wait for each other anyway.
  ElasticPool control_pool_{{.name = "model control", .max_threads = 4}};
};

}  // namespace tessera::serving
