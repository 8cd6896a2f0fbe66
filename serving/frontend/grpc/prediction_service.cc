#include "serving/frontend/grpc/prediction_service.h"

#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "serving/frontend/grpc/grpc_call.h"
#include "serving/frontend/wire/wire_predict_request.h"
#include "serving/frontend/wire/wire_predict_response.h"
#include "serving/servables/serving_proto.h"

namespace tessera::serving {
namespace {

absl::Status MissingModelSpec() { return absl::InvalidArgumentError("Missing ModelSpec"); }

}  // namespace

class PredictCall final : public GrpcCall {
 public:
  PredictCall(const grpc::CallbackServerContext* context, grpc::ByteBuffer* response)
      : GrpcCall(context), response(response) {}

  WirePredictRequest request;
  grpc::ByteBuffer* const response;
};

template <typename Closure>
void PredictionService::Dispatch(const ModelSpec& spec, Closure closure) {
  absl::StatusOr<ModelHandle> model = handler_->FindModel(spec);
  // An error is quick to answer.
  if (!model.ok() || (*model)->TypicalRunTime(spec.signature_name) < kInlineRunTime) {
    closure();
  } else {
    pool_->Schedule(std::move(closure));
  }
}

grpc::ServerUnaryReactor* PredictionService::Predict(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  auto* call = new PredictCall(context, response);
  if (const absl::Status status = call->request.Read(*request); !status.ok()) {
    call->End(status);
    return call;
  }
  auto answer = [this, call] {
    const absl::Status status = Answer(*call);
    handler_->RecordRequest(Entrypoint::kGrpc, "Predict", call->request.model_spec().name, status,
                            absl::Now() - call->start());
    call->End(status);
  };
  if (call->request.size_bytes() <= kInlineBytes) {
    Dispatch(call->request.model_spec(), std::move(answer));
  } else {
    pool_->Schedule(std::move(answer));
  }
  return call;
}

absl::Status PredictionService::Answer(PredictCall& call) {
  const WirePredictRequest& request = call.request;
  if (!request.has_model_spec()) return MissingModelSpec();
  auto input = [&](size_t i) { return request.DecodeInput(i); };
  PredictResponse answer;
  RETURN_IF_ERROR(
      handler_->Predict(request.model_spec(), request.View(input), call.options(), &answer));
  ASSIGN_OR_RETURN(*call.response,
                   EncodePredictResponse(request.model_spec().name, answer.model.version(),
                                         std::move(answer.result), options_.output_form));
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::Classify(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::ClassificationRequest,
                               tensorflow::serving::ClassificationResponse>(context, response);
  if (!call->Read(*request)) return call;
  Dispatch(ViewModelSpec(call->request.model_spec()), [this, call] {
    const absl::Status status = Answer(call->request, call->options(), &call->response);
    handler_->RecordRequest(Entrypoint::kGrpc, "Classify", call->request.model_spec().name(),
                            status, absl::Now() - call->start());
    call->Reply(status);
  });
  return call;
}

absl::Status PredictionService::Answer(const tensorflow::serving::ClassificationRequest& request,
                                       const CallOptions& options,
                                       tensorflow::serving::ClassificationResponse* response) {
  if (!request.has_model_spec()) return MissingModelSpec();
  const ModelSpec spec = ViewModelSpec(request.model_spec());
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  ClassifyResponse answer;
  RETURN_IF_ERROR(handler_->Classify(spec, {spec.signature_name, examples}, options, &answer));
  FillModelSpec(spec.name, answer.model.version(), answer.result.signature_name,
                response->mutable_model_spec());
  FillClassification(answer.result, response->mutable_result());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::Regress(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::RegressionRequest,
                               tensorflow::serving::RegressionResponse>(context, response);
  if (!call->Read(*request)) return call;
  Dispatch(ViewModelSpec(call->request.model_spec()), [this, call] {
    const absl::Status status = Answer(call->request, call->options(), &call->response);
    handler_->RecordRequest(Entrypoint::kGrpc, "Regress", call->request.model_spec().name(), status,
                            absl::Now() - call->start());
    call->Reply(status);
  });
  return call;
}

absl::Status PredictionService::Answer(const tensorflow::serving::RegressionRequest& request,
                                       const CallOptions& options,
                                       tensorflow::serving::RegressionResponse* response) {
  if (!request.has_model_spec()) return MissingModelSpec();
  const ModelSpec spec = ViewModelSpec(request.model_spec());
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  RegressResponse answer;
  RETURN_IF_ERROR(handler_->Regress(spec, {spec.signature_name, examples}, options, &answer));
  FillModelSpec(spec.name, answer.model.version(), answer.result.signature_name,
                response->mutable_model_spec());
  FillRegression(answer.result, response->mutable_result());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::MultiInference(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::MultiInferenceRequest,
                               tensorflow::serving::MultiInferenceResponse>(context, response);
  if (!call->Read(*request)) return call;
  // Several signatures in one run: how long it takes is not known.
  pool_->Schedule(
      [this, call] { call->Reply(Answer(call->request, call->options(), &call->response)); });
  return call;
}

absl::Status PredictionService::Answer(const tensorflow::serving::MultiInferenceRequest& request,
                                       const CallOptions& options,
                                       tensorflow::serving::MultiInferenceResponse* response) {
  std::vector<InferenceTask> tasks;
  for (const auto& task : request.tasks()) {
    tasks.push_back({ViewModelSpec(task.model_spec()), task.method_name()});
  }
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  MultiInferenceResponse answer;
  RETURN_IF_ERROR(handler_->MultiInference(tasks, examples, options, &answer));
  for (size_t i = 0; i < answer.results.size(); ++i) {
    auto* result = response->add_results();
    absl::string_view signature_name;
    if (auto* classified = std::get_if<ClassifyResult>(&answer.results[i])) {
      signature_name = classified->signature_name;
      FillClassification(*classified, result->mutable_classification_result());
    } else {
      const auto& regressed = std::get<RegressResult>(answer.results[i]);
      signature_name = regressed.signature_name;
      FillRegression(regressed, result->mutable_regression_result());
    }
    FillModelSpec(tasks[i].model.name, answer.model.version(), signature_name,
                  result->mutable_model_spec());
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::GetModelMetadata(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::GetModelMetadataRequest,
                               tensorflow::serving::GetModelMetadataResponse>(context, response);
  if (call->Read(*request)) call->Reply(handler_->GetModelMetadata(call->request, &call->response));
  return call;
}

}  // namespace tessera::serving
