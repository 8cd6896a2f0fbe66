// RequestHandler: what every front end calls. gRPC and REST decode a request, ask here, and encode
// the answer; which version answers, what is recorded, and every error are the same for both.
//
//   ModelSpec spec{.name = "resnet"};
//   PredictResponse response;
//   absl::Status status = handler.Predict(spec, request, {.deadline = deadline}, &response);
//   for (const NamedOutput& output : response.result.outputs) Write(output.name, output.tensor);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/core/metrics.h"
#include "serving/core/servable_handle.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/saved_model/saved_model_servable.h"

namespace tensorflow::serving {
class GetModelMetadataRequest;
class GetModelMetadataResponse;
class GetModelStatusRequest;
class GetModelStatusResponse;
class ReloadConfigRequest;
class ReloadConfigResponse;
}  // namespace tensorflow::serving

namespace tessera::serving {

class ServedModels;

// Answers keep the version that gave them loaded: names in the result are the model's.
struct PredictResponse {
  ModelHandle model;
  PredictResult result;
};
struct ClassifyResponse {
  ModelHandle model;
  ClassifyResult result;
};
struct RegressResponse {
  ModelHandle model;
  RegressResult result;
};
struct MultiInferenceResponse {
  ModelHandle model;
  std::vector<InferenceResult> results;  // in the order of the tasks
};

// Which front end a request came by: a label of the metrics.
enum class Entrypoint { kGrpc, kRest };

// Thread-safe. Every call but ReloadConfig() is bounded by the run itself.
class RequestHandler {
 public:
  // Both must outlive the handler.
  RequestHandler(ServedModels* models, MetricsRegistry* metrics);
  ~RequestHandler();

  // The version that `spec` names now. A request that types its payload by the signature finds the
  // model first, then runs on the same version by the overloads below that take a handle.
  // Errors: INVALID_ARGUMENT without a name or for an unknown label; NOT_FOUND "Servable not found
  // for request: ..." if no such version is available; UNAVAILABLE for labels before any
  // configuration was applied.
  absl::StatusOr<ModelHandle> FindModel(const ModelSpec& spec) const;

  // The signature comes from `spec`; request.signature_name is not read. For errors after the
  // model's look-up see SavedModelServable.
  absl::Status Predict(const ModelSpec& spec, const PredictRequest& request,
                       const CallOptions& options, PredictResponse* response) const;
  absl::Status Predict(ModelHandle model, const ModelSpec& spec, const PredictRequest& request,
                       const CallOptions& options, PredictResponse* response) const;
  absl::Status Classify(const ModelSpec& spec, const ExamplesRequest& request,
                        const CallOptions& options, ClassifyResponse* response) const;
  absl::Status Regress(const ModelSpec& spec, const ExamplesRequest& request,
                       const CallOptions& options, RegressResponse* response) const;
  // The model is that of the first task. Errors after its look-up: INVALID_ARGUMENT for tasks of
  // different models.
  absl::Status MultiInference(absl::Span<const InferenceTask> tasks,
                              absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                              const CallOptions& options, MultiInferenceResponse* response) const;

  // These are rare and described by their messages; they speak those.
  absl::Status GetModelMetadata(const tensorflow::serving::GetModelMetadataRequest& request,
                                tensorflow::serving::GetModelMetadataResponse* response) const;
  absl::Status GetModelStatus(const tensorflow::serving::GetModelStatusRequest& request,
                              tensorflow::serving::GetModelStatusResponse* response) const;
  // Returns when every new model is available or has failed, or when the options end the wait: keep
  // it off threads that requests need. Errors: INVALID_ARGUMENT without a model_config_list; those
  // of ServedModels::ApplyConfig().
  absl::Status ReloadConfig(const tensorflow::serving::ReloadConfigRequest& request,
                            tensorflow::serving::ReloadConfigResponse* response,
                            const CallOptions& options = {});

  // True if the server has been configured and each of its models has a version available.
  bool IsReady() const;

  // Counts a request in request_count under the name it asked for, and, if it went well, its time
  // in request_latency. `api` is "Predict", "Classify" or "Regress" by gRPC; "predict", "classify",
  // "regress" or "" by REST, which counts every request below /v1/.
  void RecordRequest(Entrypoint entrypoint, absl::string_view api, absl::string_view model_name,
                     const absl::Status& status, absl::Duration latency) const;

  MetricsRegistry& metrics() const { return *metrics_; }

 private:
  ServedModels* const models_;
  MetricsRegistry* const metrics_;
  CounterFamily* const request_count_;
  HistogramFamily* const request_latency_;
  HistogramFamily* const runtime_latency_;
  HistogramFamily* const example_counts_;
  CounterFamily* const example_count_total_;
};

}  // namespace tessera::serving
