#include "serving/frontend/grpc/prediction_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/exception_status.h"
#include "runtime/base/status.h"
#include "serving/frontend/grpc/call_dispatch.h"
#include "serving/frontend/grpc/grpc_call.h"
#include "serving/frontend/wire/wire_predict_request.h"
#include "serving/frontend/wire/wire_predict_response.h"
#include "serving/servables/serving_proto.h"

namespace tessera::serving {
namespace {

absl::Status MissingModelSpec() { return absl::InvalidArgumentError("Missing ModelSpec"); }

}  // namespace

// Each kind of call knows which model it asks for, and holds that model from when it was read until
// it is answered.
class PredictionService::PredictCall final : public GrpcCall {
 public:
  PredictCall(const grpc::CallbackServerContext* context, const grpc::ByteBuffer& request,
              grpc::ByteBuffer* response, const RequestHandler* handler)
      : GrpcCall(context, request, response, handler, "Predict"), response(response) {}

  absl::StatusOr<ModelSpec> model_spec() const {
    if (!request.has_model_spec()) return MissingModelSpec();
    return request.model_spec();
  }
  absl::string_view signature_name() const { return request.model_spec().signature_name; }
  size_t size_bytes() const { return request.size_bytes(); }
  void Reply(const absl::Status& status) { End(status); }

  WirePredictRequest request;
  grpc::ByteBuffer* const response;
  RoutedModel model;
};

class PredictionService::ClassifyCall final
    : public MessageCall<tensorflow::serving::ClassificationRequest,
                         tensorflow::serving::ClassificationResponse> {
 public:
  using MessageCall::MessageCall;

  absl::StatusOr<ModelSpec> model_spec() const {
    if (!request.has_model_spec()) return MissingModelSpec();
    return ViewModelSpec(request.model_spec());
  }
  absl::string_view signature_name() const { return request.model_spec().signature_name(); }

  RoutedModel model;
};

class PredictionService::RegressCall final
    : public MessageCall<tensorflow::serving::RegressionRequest,
                         tensorflow::serving::RegressionResponse> {
 public:
  using MessageCall::MessageCall;

  absl::StatusOr<ModelSpec> model_spec() const {
    if (!request.has_model_spec()) return MissingModelSpec();
    return ViewModelSpec(request.model_spec());
  }
  absl::string_view signature_name() const { return request.model_spec().signature_name(); }

  RoutedModel model;
};

class PredictionService::MultiInferenceCall final
    : public MessageCall<tensorflow::serving::MultiInferenceRequest,
                         tensorflow::serving::MultiInferenceResponse> {
 public:
  using MessageCall::MessageCall;

  std::vector<InferenceTask> tasks;  // views of the request
  RoutedModel model;
};

template <typename Call>
void PredictionService::Dispatch(Call* call, RequestMethod method, absl::string_view api) {
  const auto find = [this](const ModelSpec& spec, RoutingKeys keys) {
    return handler_->FindModel(spec, keys);
  };
  const auto answer = [this](Call& call, const RoutedModel& model) { return Answer(call, model); };
  DispatchCall({.handler = handler_, .pool = pool_, .method = method, .api = api}, call, find,
               answer);
}

grpc::ServerUnaryReactor* PredictionService::Predict(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  auto* call = new PredictCall(context, *request, response, handler_);
  const absl::Status status =
      CatchExceptions(kTheRequest, [&] { return call->request.Read(*request); });
  if (!status.ok()) {
    call->End(status);
    return call;
  }
  Dispatch(call, RequestMethod::kPredict, "Predict");
  return call;
}

absl::Status PredictionService::Answer(PredictCall& call, const RoutedModel& model) {
  const WirePredictRequest& request = call.request;
  auto input = [&](size_t i) { return request.DecodeInput(i); };
  PredictResult result;
  RETURN_IF_ERROR(handler_->Predict(model, request.View(input), call.options(), &result));
  ASSIGN_OR_RETURN(*call.response, EncodePredictResponse(model.id().name, model.version(),
                                                         std::move(result), options_.output_form));
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::Classify(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  auto* call = new ClassifyCall(context, *request, response, handler_, "Classify");
  DispatchRead(pool_, call, *request, [this, call, request] {
    if (call->Read(*request)) Dispatch(call, RequestMethod::kClassify, "Classify");
  });
  return call;
}

absl::Status PredictionService::Answer(ClassifyCall& call, const RoutedModel& model) {
  const auto& request = call.request;
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  ClassifyResult result;
  RETURN_IF_ERROR(handler_->Classify(model, {request.model_spec().signature_name(), examples},
                                     call.options(), &result));
  FillModelSpec(model.id(), result.signature_name, call.response.mutable_model_spec());
  FillClassification(result, call.response.mutable_result());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::Regress(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  auto* call = new RegressCall(context, *request, response, handler_, "Regress");
  DispatchRead(pool_, call, *request, [this, call, request] {
    if (call->Read(*request)) Dispatch(call, RequestMethod::kRegress, "Regress");
  });
  return call;
}

absl::Status PredictionService::Answer(RegressCall& call, const RoutedModel& model) {
  const auto& request = call.request;
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  RegressResult result;
  RETURN_IF_ERROR(handler_->Regress(model, {request.model_spec().signature_name(), examples},
                                    call.options(), &result));
  FillModelSpec(model.id(), result.signature_name, call.response.mutable_model_spec());
  FillRegression(result, call.response.mutable_result());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::MultiInference(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  auto* call = new MultiInferenceCall(context, *request, response, handler_, "MultiInference");
  DispatchRead(pool_, call, *request, [this, call, request] {
    if (call->Read(*request)) Dispatch(call);
  });
  return call;
}

void PredictionService::Dispatch(MultiInferenceCall* call) {
  const auto refuse = [this, call](const absl::Status& error) { Reply(*call, error); };
  if (const absl::Status status = Find(*call); !status.ok()) return refuse(status);
  // The run time of several signatures together is not known, so a thread of the pool runs them.
  const auto answer = [this, call] {
    Reply(*call, CatchExceptions(kTheRequest, [&] { return AnswerTasks(*call); }));
  };
  Admit(
      call, [call] { return call->options(); },
      [this, call, answer](bool /*here*/) {
        pool_->Schedule(handler_->ShareOf(call->model.id().name), NotingWait(&call->times, answer));
      },
      refuse);
}

absl::Status PredictionService::Find(MultiInferenceCall& call) {
  for (const auto& task : call.request.tasks()) {
    call.tasks.push_back({ViewModelSpec(task.model_spec()), task.method_name()});
  }
  if (!call.tasks.empty()) call.model_name = call.tasks[0].model.name;
  const auto keys = [&call](absl::string_view name) { return call.Metadata(name); };
  ASSIGN_OR_RETURN(call.model, handler_->FindModel(call.tasks, keys));
  call.times.cell =
      &call.model->request_stats().Begin(RequestMethod::kMultiInference, Entrypoint::kGrpc);
  call.times.version = call.model.version();
  return CheckBytes(call.model, call.size_bytes());
}

absl::Status PredictionService::AnswerTasks(MultiInferenceCall& call) {
  const CallOptions options = call.options();
  absl::Status status = Answer(call.request, call.tasks, call.model, options, &call.response);
  std::vector<absl::string_view> signatures;
  for (const InferenceTask& task : call.tasks) signatures.push_back(task.model.signature_name);
  if (handler_->FallBack(status, signatures, options, &call.model)) {
    status = Answer(call.request, call.tasks, call.model, options, &call.response);
  }
  return status;
}

void PredictionService::Reply(MultiInferenceCall& call, const absl::Status& status) {
  // request_count lacks these requests, as TensorFlow Serving's does; their version counts them.
  if (call.model) {
    handler_->RecordUncounted(Entrypoint::kGrpc, "multi_inference", call.model.id().name, status,
                              call.times, [&call] { return call.TraceId(); });
  }
  call.model = RoutedModel();
  call.Reply(status);
}

absl::Status PredictionService::Answer(const tensorflow::serving::MultiInferenceRequest& request,
                                       absl::Span<const InferenceTask> tasks,
                                       const RoutedModel& model, const CallOptions& options,
                                       tensorflow::serving::MultiInferenceResponse* response) {
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  std::vector<InferenceResult> results;
  RETURN_IF_ERROR(handler_->MultiInference(model, tasks, examples, options, &results));
  FillMultiInference(model.id(), results, response);
  return absl::OkStatus();
}

absl::Status PredictionService::Answer(
    const tensorflow::serving::GetModelMetadataRequest& request,
    tensorflow::serving::GetModelMetadataResponse* response) const {
  constexpr char kSignatureDef[] = "signature_def";
  if (!request.has_model_spec()) return MissingModelSpec();
  if (request.metadata_field().empty()) {
    return absl::InvalidArgumentError(
        "GetModelMetadataRequest must specify at least one metadata_field");
  }
  for (const std::string& field : request.metadata_field()) {
    if (field == kSignatureDef) continue;
    return absl::InvalidArgumentError(absl::StrCat("Metadata field ", field, " is not supported"));
  }
  ASSIGN_OR_RETURN(const ModelHandle model,
                   handler_->FindDescribedModel(ViewModelSpec(request.model_spec())));
  FillModelSpec(model.id(), /*signature_name=*/"", response->mutable_model_spec());
  tensorflow::serving::SignatureDefMap signatures;
  model->FillSignatureDefs(&signatures);
  (*response->mutable_metadata())[kSignatureDef].PackFrom(signatures);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PredictionService::GetModelMetadata(grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request,
                                                              grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::GetModelMetadataRequest,
                               tensorflow::serving::GetModelMetadataResponse>(
      context, *request, response, handler_, "GetModelMetadata");
  DispatchRead(pool_, call, *request, [this, call, request] {
    if (!call->Read(*request)) return;
    call->model_name = call->request.model_spec().name();
    call->ReplyWith([&] { return Answer(call->request, &call->response); });
  });
  return call;
}

}  // namespace tessera::serving
