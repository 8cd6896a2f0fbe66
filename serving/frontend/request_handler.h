// RequestHandler: what every front end calls. gRPC and REST decode a request, find its model here,
// ask it here, and encode the answer. Which version answers, what is recorded, and every error are
// the same for both.
//
//   ASSIGN_OR_RETURN(RoutedModel model, handler.FindModel({.name = "resnet"}, keys));
//   absl::Status status = Answer(model);   // calls handler.Predict(), and writes the outputs
//   if (handler.FallBack(status, {signature_name}, options, &model)) status = Answer(model);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/host/pace.h"
#include "runtime/profile/tracer.h"
#include "serving/admission/admission_control.h"
#include "serving/core/metrics.h"
#include "serving/core/servable_state.h"
#include "serving/frontend/access_log.h"
#include "serving/frontend/failure_log.h"
#include "serving/frontend/routed_model.h"
#include "serving/logging/request_log.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/request_stats.h"
#include "serving/servables/servable.h"
#include "serving/servables/traffic_router.h"

namespace tensorflow::serving {
class ModelServerConfig;
}  // namespace tensorflow::serving

namespace tessera::serving {

class ServedModels;

// Begins the message of a status that stands for an exception of a request, see CatchExceptions().
inline constexpr absl::string_view kTheRequest = "the request";

// The logs to which requests are written, each null if there is none.
struct RequestLogging {
  const RequestLog* requests = nullptr;  // a sample of those that were answered
  AccessLog* access = nullptr;           // a line for each that ended
};

// Thread-safe. Every call but ApplyConfig() is bounded by the run itself.
class RequestHandler {
 public:
  // `pacer` is told of each request. `tracer` records requests; null: nobody does. `admission`
  // has the limits and shares of models; null: there are none. All must outlive the handler.
  RequestHandler(ServedModels* models, MetricsRegistry* metrics, Pacer* pacer,
                 Tracer* tracer = nullptr, AdmissionControl* admission = nullptr,
                 const RequestLogging& logs = {});
  ~RequestHandler();

  // Finds the version that `spec` names now, or, if it names none, the one that a request with
  // these keys goes to. A request does this once, keeps the handle until its answer is written,
  // because names in results are the model's, and passes it to the calls below. Errors:
  // INVALID_ARGUMENT without a name or for an unknown label; NOT_FOUND "Servable not found for
  // request: ..." if no such version is available; UNAVAILABLE for labels before any configuration
  // was applied.
  absl::StatusOr<RoutedModel> FindModel(const ModelSpec& spec, RoutingKeys keys) const;
  // Finds the model of the first task. Errors: as above; INVALID_ARGUMENT for tasks of different
  // models.
  absl::StatusOr<RoutedModel> FindModel(absl::Span<const InferenceTask> tasks,
                                        RoutingKeys keys) const;
  // Finds the version that is described to whoever asks about a model without naming a version: the
  // stable one. Errors: as above.
  absl::StatusOr<ModelHandle> FindDescribedModel(const ModelSpec& spec) const;

  // Ask a model that was found and, if it has limits, has admitted the request, and record what it
  // took, in `options.times` too. Errors: see Servable; DEADLINE_EXCEEDED by the model's timeout.
  absl::Status Predict(const RoutedModel& model, const PredictRequest& request,
                       const CallOptions& options, PredictResult* result) const;
  absl::Status Classify(const RoutedModel& model, const ExamplesRequest& request,
                        const CallOptions& options, ClassifyResult* result) const;
  absl::Status Regress(const RoutedModel& model, const ExamplesRequest& request,
                       const CallOptions& options, RegressResult* result) const;
  // Results are in the order of the tasks.
  absl::Status MultiInference(const RoutedModel& model, absl::Span<const InferenceTask> tasks,
                              absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                              const CallOptions& options,
                              std::vector<InferenceResult>* results) const;

  // Tells that a request to a model that was found failed before any of the calls above, because it
  // does not fit the model, after this time.
  void NoteUnfit(const RoutedModel& model, absl::string_view signature_name,
                 const absl::Status& status, absl::Duration latency) const;

  // Puts the stable version in the place of a candidate that answered a request with `error`, if
  // the router chose the candidate and the request may be answered twice. The caller then asks
  // `model` again, from the bytes of the request on, because versions may differ in their inputs;
  // the answer counts for the metrics, and not for the rollout. It happens once for a request, and
  // not for signatures of the candidate that leave a trace (SignatureInfo::is_pure), after the
  // client's deadline, or if the client has gone. Returns false if `error` is for the client.
  //
  // `options` has the `times` of the request, whose cell is then that of the stable version.
  bool FallBack(const absl::Status& error, absl::Span<const absl::string_view> signature_names,
                const CallOptions& options, RoutedModel* model) const;
  // Whether FallBack() may return true, so that the bytes of the request must be kept.
  bool MayFallBack(const RoutedModel& model) const;

  // Returns the states of the versions of a model that this process has seen, highest version
  // first, or of one version if one is given. A state holds the health of its version. Errors:
  // NOT_FOUND if there is no such version, or no version at all.
  absl::StatusOr<std::vector<ServableState>> StatesOf(absl::string_view model,
                                                      std::optional<int64_t> version) const;
  // Returns the states of each configured model by name, highest version first. A model of which no
  // version was seen yet has none.
  std::map<std::string, std::vector<ServableState>> ModelStates() const;
  // Replaces the configuration of the server. Returns when every new model is available or has
  // failed, or when the options end the wait. It must not run on a thread that requests need.
  // Errors: those of ServedModels::ApplyConfig().
  absl::Status ApplyConfig(const tensorflow::serving::ModelServerConfig& config,
                           const CallOptions& options = {});

  // Returns true if the server has been configured and each of its models has a version available.
  bool IsReady() const;

  // Counts a request that ends now in request_count, under the name of the model that it asked for,
  // and records its time in request_latency if it succeeded; both also among those of its version,
  // if that was found, whose handle must still be held. gRPC passes "Predict", "Classify" or
  // "Regress" as `api`. REST passes "predict", "classify", "regress" or "", and counts every
  // request below /v1/. `trace_id` is as for FailureLog::Note(), and is called while requests are
  // traced.
  using TraceId = absl::FunctionRef<absl::string_view()>;
  void RecordRequest(Entrypoint entrypoint, absl::string_view api, absl::string_view model_name,
                     const absl::Status& status, const RequestTimes& times, TraceId trace_id) const;

  // Records a request that ends now among those of its version, which was found, but does not count
  // it in request_count.
  void RecordUncounted(Entrypoint entrypoint, absl::string_view api, absl::string_view model_name,
                       const absl::Status& status, const RequestTimes& times,
                       TraceId trace_id) const {
    RecordEnd(entrypoint, api, model_name, status, times, trace_id, absl::Now());
  }

  // Whether any model has limits.
  bool HasLimits() const { return admission_ != nullptr && admission_->HasLimits(); }
  // Returns the limits of a model; null if it has none.
  ModelAdmission* LimitsOf(absl::string_view model_name) const {
    return admission_ == nullptr ? nullptr : admission_->Find(model_name);
  }
  // Returns the share by which requests to a model wait for a thread; null if it has none.
  const Share* ShareOf(absl::string_view model_name) const {
    return admission_ == nullptr ? nullptr : admission_->ShareOf(model_name);
  }

  // Front ends note each request that ends in these logs, whatever it asked for. The latter may be
  // null.
  FailureLog& failures() const { return failure_log_; }
  AccessLog* access_log() const { return logs_.access; }

  MetricsRegistry& metrics() const { return *metrics_; }

 private:
  // Returns the log that a request to this model is to be added to; null for most of them.
  std::shared_ptr<const ModelRequestLog> DrawLog(const RoutedModel& model) const;
  // Runs a request whose model has admitted it, `run(options)`, for no longer than its limits say.
  template <typename Run>
  static absl::Status RunWithin(const RoutedModel& model, const CallOptions& options, Run&& run);
  void RecordEnd(Entrypoint entrypoint, absl::string_view api, absl::string_view model_name,
                 const absl::Status& status, const RequestTimes& times, TraceId trace_id,
                 absl::Time now) const;

  ServedModels* const models_;
  MetricsRegistry* const metrics_;
  Pacer* const pacer_;
  Tracer* const tracer_;               // may be null
  AdmissionControl* const admission_;  // may be null
  const RequestLogging logs_;
  TrafficRouter* const router_;  // null without rollouts
  CounterFamily* const request_count_;
  HistogramFamily* const request_latency_;
  HistogramFamily* const runtime_latency_;
  HistogramFamily* const example_counts_;
  CounterFamily* const example_count_total_;
  CounterFamily* const retried_requests_;  // null without rollouts
  mutable FailureLog failure_log_;
};

}  // namespace tessera::serving
