// tensorflow.serving.PredictionService over gRPC.
#pragma once

#include <functional>

#include "runtime/tensor/tensor_proto.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/request_handler.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera::serving {

class GrpcCall;

// Decodes, asks the handler, encodes. Requests whose signature typically runs for less than
// kInlineRunTime run on the thread that read them; others, and those of signatures not yet known,
// on the pool's, so that they hold up nobody. Thread-safe.
class PredictionService final : public tensorflow::serving::PredictionService::CallbackService {
 public:
  // About ten times what handing a request to another thread costs.
  static constexpr absl::Duration kInlineRunTime = absl::Microseconds(200);

  struct Options {
    // How outputs of Predict are written: fields by dtype, or raw bytes, which are cheaper for both
    // sides but not what old clients expect.
    TensorProtoForm output_form = TensorProtoForm::kTypedFields;
  };

  // Both must outlive the service.
  PredictionService(const Options& options, RequestHandler* handler, ElasticPool* pool)
      : options_(options), handler_(handler), pool_(pool) {}

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const tensorflow::serving::PredictRequest* request,
                                    tensorflow::serving::PredictResponse* response) override;
  grpc::ServerUnaryReactor* Classify(
      grpc::CallbackServerContext* context,
      const tensorflow::serving::ClassificationRequest* request,
      tensorflow::serving::ClassificationResponse* response) override;
  grpc::ServerUnaryReactor* Regress(grpc::CallbackServerContext* context,
                                    const tensorflow::serving::RegressionRequest* request,
                                    tensorflow::serving::RegressionResponse* response) override;
  grpc::ServerUnaryReactor* MultiInference(
      grpc::CallbackServerContext* context,
      const tensorflow::serving::MultiInferenceRequest* request,
      tensorflow::serving::MultiInferenceResponse* response) override;
  grpc::ServerUnaryReactor* GetModelMetadata(
      grpc::CallbackServerContext* context,
      const tensorflow::serving::GetModelMetadataRequest* request,
      tensorflow::serving::GetModelMetadataResponse* response) override;

 private:
  // Runs `closure` here or on the pool, by what `spec` asks for.
  template <typename Closure>
  void Dispatch(const ModelSpec& spec, Closure closure);

  absl::Status Answer(tensorflow::serving::PredictRequest& request, const CallOptions& options,
                      tensorflow::serving::PredictResponse* response);
  absl::Status Answer(const tensorflow::serving::ClassificationRequest& request,
                      const CallOptions& options,
                      tensorflow::serving::ClassificationResponse* response);
  absl::Status Answer(const tensorflow::serving::RegressionRequest& request,
                      const CallOptions& options,
                      tensorflow::serving::RegressionResponse* response);
  absl::Status Answer(const tensorflow::serving::MultiInferenceRequest& request,
                      const CallOptions& options,
                      tensorflow::serving::MultiInferenceResponse* response);

  const Options options_;
  RequestHandler* const handler_;
  ElasticPool* const pool_;
};

}  // namespace tessera::serving
