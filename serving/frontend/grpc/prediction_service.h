// tensorflow.serving.PredictionService over gRPC.
#pragma once

#include "runtime/tensor/tensor_proto.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/request_handler.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera::serving {

class PredictCall;

using PredictionServiceMethods =
    tensorflow::serving::PredictionService::WithRawCallbackMethod_Predict<
        tensorflow::serving::PredictionService::WithRawCallbackMethod_Classify<
            tensorflow::serving::PredictionService::WithRawCallbackMethod_Regress<
                tensorflow::serving::PredictionService::WithRawCallbackMethod_MultiInference<
                    tensorflow::serving::PredictionService::WithRawCallbackMethod_GetModelMetadata<
                        tensorflow::serving::PredictionService::Service>>>>>;

// Decodes, asks the handler, encodes. Small requests whose signature typically runs for less than
// kInlineRunTime run on the thread that read them; others, and those of signatures not yet known,
// on the pool's, so that they hold up nobody. Thread-safe.
class PredictionService final : public PredictionServiceMethods {
 public:
  // About ten times what handing a request to another thread costs.
  static constexpr absl::Duration kInlineRunTime = absl::Microseconds(200);
  // Takes about as long to copy into tensors.
  static constexpr size_t kInlineBytes = 512 << 10;

  struct Options {
    // How outputs of Predict are written: fields by dtype, or raw bytes, which are cheaper for both
    // sides but not what old clients expect.
    TensorProtoForm output_form = TensorProtoForm::kTypedFields;
  };

  // Both must outlive the service.
  PredictionService(const Options& options, RequestHandler* handler, ElasticPool* pool)
      : options_(options), handler_(handler), pool_(pool) {}

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Classify(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Regress(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* MultiInference(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetModelMetadata(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;

 private:
  // Runs `closure` here or on the pool, by what `spec` asks for.
  template <typename Closure>
  void Dispatch(const ModelSpec& spec, Closure closure);

  absl::Status Answer(PredictCall& call);
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
