// tensorflow.serving.PredictionService over gRPC.
#pragma once

#include "runtime/tensor/tensor_proto.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/request_handler.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera::serving {

using PredictionServiceMethods =
    tensorflow::serving::PredictionService::WithRawCallbackMethod_Predict<
        tensorflow::serving::PredictionService::WithRawCallbackMethod_Classify<
            tensorflow::serving::PredictionService::WithRawCallbackMethod_Regress<
                tensorflow::serving::PredictionService::WithRawCallbackMethod_MultiInference<
                    tensorflow::serving::PredictionService::WithRawCallbackMethod_GetModelMetadata<
                        tensorflow::serving::PredictionService::Service>>>>>;

// Decodes requests, asks the handler, and encodes the answers. A small request whose signature
// typically runs for a short time (see call_dispatch.h) runs on the thread that read it. All others
// run on the threads of the pool, so that they hold up nobody; so do requests for signatures that
// have not run yet. Large messages of examples are parsed on the pool, too. Thread-safe.
class PredictionService final : public PredictionServiceMethods {
 public:
  struct Options {
    // How outputs of Predict are written: as fields by dtype, or as raw bytes, which are cheaper
    // for both sides but not what old clients expect.
    TensorProtoForm output_form = TensorProtoForm::kTypedFields;
  };

  // Both must outlive the service.
  PredictionService(const Options& options, RequestHandler* handler, RequestPool* pool)
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
  class PredictCall;
  class ClassifyCall;
  class RegressCall;
  class MultiInferenceCall;

  // See DispatchCall().
  template <typename Call>
  void Dispatch(Call* call, RequestMethod method, absl::string_view api);
  void Dispatch(MultiInferenceCall* call);

  absl::Status Answer(PredictCall& call, const RoutedModel& model);
  absl::Status Answer(ClassifyCall& call, const RoutedModel& model);
  absl::Status Answer(RegressCall& call, const RoutedModel& model);
  absl::Status Answer(const tensorflow::serving::GetModelMetadataRequest& request,
                      tensorflow::serving::GetModelMetadataResponse* response) const;
  absl::Status Answer(const tensorflow::serving::MultiInferenceRequest& request,
                      absl::Span<const InferenceTask> tasks, const RoutedModel& model,
                      const CallOptions& options,
                      tensorflow::serving::MultiInferenceResponse* response);

  // These find the model of a MultiInference, answer it, and send its answer or error.
  absl::Status Find(MultiInferenceCall& call);
  absl::Status AnswerTasks(MultiInferenceCall& call);
  void Reply(MultiInferenceCall& call, const absl::Status& status);

  const Options options_;
  RequestHandler* const handler_;
  RequestPool* const pool_;
};

}  // namespace tessera::serving
