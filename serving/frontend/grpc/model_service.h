// tensorflow.serving.ModelService over gRPC.
#pragma once

#include "serving/core/elastic_pool.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/request_handler.h"
#include "tensorflow_serving/apis/model_service.grpc.pb.h"

namespace tessera::serving {

using ModelServiceMethods = tensorflow::serving::ModelService::WithRawCallbackMethod_GetModelStatus<
    tensorflow::serving::ModelService::WithRawCallbackMethod_HandleReloadConfigRequest<
        tensorflow::serving::ModelService::Service>>;

// Thread-safe. Reloads run on a separate pool, because they wait for models.
class ModelService final : public ModelServiceMethods {
 public:
  // Both must outlive the service. `pool` reads large requests.
  ModelService(RequestHandler* handler, RequestPool* pool) : handler_(handler), pool_(pool) {}

  grpc::ServerUnaryReactor* GetModelStatus(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* HandleReloadConfigRequest(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) override;

 private:
  RequestHandler* const handler_;
  RequestPool* const pool_;
  // Few threads suffice, because reloads wait for each other anyway.
  ElasticPool reload_pool_{{.name = "reload", .max_threads = 4}};
};

}  // namespace tessera::serving
