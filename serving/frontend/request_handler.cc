#include "serving/frontend/request_handler.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "serving/servables/named_outputs.h"
#include "serving/servables/request_trace.h"
#include "serving/servables/served_models.h"

namespace tessera::serving {
namespace {

// The value of the label `runtime` of runtime_latency that dashboards select.
constexpr char kRuntime[] = "TF1";

// Of an answer that a candidate owes to a request which goes on: the line and the event of its end
// name the trace.
constexpr auto kUnknownTrace = [] { return absl::string_view(); };

std::vector<double> LatencyBounds() { return ExponentialBounds(10, 1.8, 33); }

// Notes that a run lasted from `start` until now, if the servable has not noted its times itself.
// Returns its end.
absl::Time EndOfRun(absl::Time start, RequestTimes* times) {
  if (times == nullptr) return absl::Now();
  if (times->run_ended == absl::InfinitePast()) {
    times->run_began = start;
    times->run_ended = absl::Now();
  }
  return times->run_ended;
}

// Runs `run` and records its time if it succeeds.
template <typename Run>
absl::Status Timed(HistogramFamily* family, absl::string_view model, absl::string_view api,
                   const CallOptions& options, Run&& run) {
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(run());
  const absl::Duration time = EndOfRun(start, options.times) - start;
  family->Get({model, api, kRuntime}).Record(absl::ToDoubleMicroseconds(time));
  return absl::OkStatus();
}

using Interest = TrafficRouter::Interest;

// A version is not measured by what others could not answer.
Interest InterestIn(const TrafficRouter* router, const RoutedModel& model) {
  if (router == nullptr || model.origin() == RoutedModel::Origin::kFallback) return Interest::kNone;
  return router->InterestIn(model.id());
}

// Runs a MultiInference, and tells the router if that wants to know.
template <typename Run>
absl::Status ObservedTasks(TrafficRouter* router, const RoutedModel& model,
                           const std::vector<InferenceResult>& results, Run&& run) {
  if (InterestIn(router, model) == Interest::kNone) [[likely]]
    return run();
  const absl::Time start = absl::Now();
  const absl::Status status = run();
  const absl::Duration latency = absl::Now() - start;
  std::vector<NamedOutput> outputs;
  if (status.ok()) outputs = OutputsOf(results);
  router->Observe({.id = model.id(),
                   .method = RequestMethod::kMultiInference,
                   .status = status,
                   .latency = latency,
                   .outputs = outputs});
  return status;
}

// Runs a Classify or a Regress, and tells the router if that wants to know. `run` takes a request
// and fills `result`.
template <typename Result, typename Run>
absl::Status ObservedExamples(TrafficRouter* router, const RoutedModel& model, RequestMethod method,
                              const ExamplesRequest& request, const Result& result, Run&& run) {
  const Interest interest = InterestIn(router, model);
  if (interest == Interest::kNone) [[likely]]
    return run(request);
  std::vector<Tensor> examples;
  auto kept_examples = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor tensor, request.examples());
    examples.push_back(tensor);
    return tensor;
  };
  const ExamplesRequest keeping{request.signature_name, kept_examples};
  const absl::Time start = absl::Now();
  const absl::Status status = run(interest == Interest::kAnswersAndInputs ? keeping : request);
  const absl::Duration latency = absl::Now() - start;
  std::vector<NamedOutput> outputs;
  if (status.ok()) outputs = OutputsOf(result);
  router->Observe({.id = model.id(),
                   .method = method,
                   .signature_name = request.signature_name,
                   .inputs = examples,
                   .status = status,
                   .latency = latency,
                   .outputs = outputs});
  return status;
}

// Runs a Predict that the router wants to know of. `run` takes a request.
template <typename Run>
absl::Status ObservedPredict(TrafficRouter* router, Interest interest, const RoutedModel& model,
                             const PredictRequest& request, const PredictResult& result,
                             Run&& run) {
  std::vector<Tensor> inputs;
  size_t num_decoded = 0;
  auto kept_input = [&](size_t i) -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor tensor, request.input(i));
    inputs.resize(request.input_names.size());
    inputs[i] = tensor;
    ++num_decoded;
    return tensor;
  };
  const PredictRequest keeping{.signature_name = request.signature_name,
                               .input_names = request.input_names,
                               .input = kept_input,
                               .output_filter = request.output_filter};
  const absl::Time start = absl::Now();
  const absl::Status status = run(interest == Interest::kAnswersAndInputs ? keeping : request);
  const absl::Duration latency = absl::Now() - start;
  if (num_decoded < request.input_names.size()) inputs.clear();
  router->Observe({.id = model.id(),
                   .signature_name = request.signature_name,
                   .input_names = request.input_names,
                   .inputs = inputs,
                   .output_filter = request.output_filter,
                   .status = status,
                   .latency = latency,
                   .outputs = status.ok() ? absl::MakeConstSpan(result.outputs)
                                          : absl::Span<const NamedOutput>()});
  return status;
}

std::vector<ServableState> InOrder(const ServableStateMonitor::VersionStates& versions) {
  std::vector<ServableState> states;
  states.reserve(versions.size());
  for (const auto& [number, state] : versions) states.push_back(state);
  return states;
}

}  // namespace

RequestHandler::RequestHandler(ServedModels* models, MetricsRegistry* metrics, Pacer* pacer,
                               Tracer* tracer, const Shares* shares)
    : models_(models),
      metrics_(metrics),
      pacer_(pacer),
      tracer_(tracer),
      shares_(shares),
      router_(models->router()),
      request_count_(
          metrics->AddCounter("/tensorflow/serving/request_count", {"model_name", "status"})),
      request_latency_(metrics->AddHistogram("/tensorflow/serving/request_latency",
                                             {"model_name", "API", "entrypoint"}, LatencyBounds())),
      runtime_latency_(metrics->AddHistogram("/tensorflow/serving/runtime_latency",
                                             {"model_name", "API", "runtime"}, LatencyBounds())),
      example_counts_(metrics->AddHistogram("/tensorflow/serving/request_example_counts", {"model"},
                                            ExponentialBounds(1, 2, 15))),
      example_count_total_(
          metrics->AddCounter("/tensorflow/serving/request_example_count_total", {"model"})),
      retried_requests_(
          router_ == nullptr
              ? nullptr
              : metrics->AddCounter("/tessera/serving/rollout_retried_requests", {"model_name"})) {
  // The page shows the type of this metric and no values, because this server does not log
  // requests.
  metrics->AddCounter("/tensorflow/serving/request_log_count", {"model_name", "status_code"});
}

RequestHandler::~RequestHandler() = default;

absl::StatusOr<RoutedModel> RequestHandler::FindModel(const ModelSpec& spec,
                                                      RoutingKeys keys) const {
  pacer_->NoteRequest();
  ASSIGN_OR_RETURN(ModelHandle model, models_->Acquire(spec, keys));
  const bool is_drawn = router_ != nullptr && !spec.version && !spec.label;
  return RoutedModel(std::move(model),
                     is_drawn ? RoutedModel::Origin::kDrawn : RoutedModel::Origin::kNamed);
}

absl::StatusOr<ModelHandle> RequestHandler::FindDescribedModel(const ModelSpec& spec) const {
  pacer_->NoteRequest();
  return models_->Acquire(spec);
}

absl::StatusOr<RoutedModel> RequestHandler::FindModel(absl::Span<const InferenceTask> tasks,
                                                      RoutingKeys keys) const {
  ASSIGN_OR_RETURN(RoutedModel model,
                   FindModel(tasks.empty() ? ModelSpec() : tasks[0].model, keys));
  const absl::string_view name = tasks[0].model.name;
  for (const InferenceTask& task : tasks) {
    if (task.model.name.empty()) {
      return absl::InvalidArgumentError("Found ModelSpec with an empty model name.");
    }
    if (task.model.name != name) {
      return absl::InvalidArgumentError(
          absl::StrCat("All ModelSpecs in a MultiInferenceRequest must access the same model name, "
                       "but there are ",
                       name, " and ", task.model.name));
    }
  }
  return model;
}

absl::Status RequestHandler::Predict(const RoutedModel& model, const PredictRequest& request,
                                     const CallOptions& options, PredictResult* result) const {
  auto run = [&](const PredictRequest& request) {
    return Timed(runtime_latency_, model.id().name, "Predict", options,
                 [&] { return model->Predict(request, options, result); });
  };
  const Interest interest = InterestIn(router_, model);
  if (interest == Interest::kNone) [[likely]]
    return run(request);
  return ObservedPredict(router_, interest, model, request, *result, run);
}

absl::Status RequestHandler::Classify(const RoutedModel& model, const ExamplesRequest& request,
                                      const CallOptions& options, ClassifyResult* result) const {
  auto run = [&](const ExamplesRequest& request) {
    return Timed(runtime_latency_, model.id().name, "Classify", options,
                 [&] { return model->Classify(request, options, result); });
  };
  return ObservedExamples(router_, model, RequestMethod::kClassify, request, *result, run);
}

absl::Status RequestHandler::Regress(const RoutedModel& model, const ExamplesRequest& request,
                                     const CallOptions& options, RegressResult* result) const {
  auto run = [&](const ExamplesRequest& request) {
    return Timed(runtime_latency_, model.id().name, "Regress", options,
                 [&] { return model->Regress(request, options, result); });
  };
  return ObservedExamples(router_, model, RequestMethod::kRegress, request, *result, run);
}

absl::Status RequestHandler::MultiInference(const RoutedModel& model,
                                            absl::Span<const InferenceTask> tasks,
                                            absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                                            const CallOptions& options,
                                            std::vector<InferenceResult>* results) const {
  int64_t num_examples = 0;
  auto counted = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor tensor, examples());
    num_examples = tensor.num_elements();
    return tensor;
  };
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(ObservedTasks(router_, model, *results, [&] {
    return model->MultiInference(tasks, counted, options, results);
  }));
  EndOfRun(start, options.times);
  const std::string& name = model.id().name;
  example_counts_->Get({name}).Record(static_cast<double>(num_examples));
  example_count_total_->Get({name}).Increment(num_examples);
  return absl::OkStatus();
}

void RequestHandler::NoteUnfit(const RoutedModel& model, absl::string_view signature_name,
                               const absl::Status& status, absl::Duration latency) const {
  if (InterestIn(router_, model) == Interest::kNone) return;
  router_->Observe(
      {.id = model.id(), .signature_name = signature_name, .status = status, .latency = latency});
}

bool RequestHandler::MayFallBack(const RoutedModel& model) const {
  return model.origin() == RoutedModel::Origin::kDrawn &&
         router_->FallbackFor(model.id()).has_value();
}

bool RequestHandler::FallBack(const absl::Status& error,
                              absl::Span<const absl::string_view> signature_names,
                              const CallOptions& options, RoutedModel* model) const {
  if (error.ok() || model->origin() != RoutedModel::Origin::kDrawn) [[likely]]
    return false;
  const absl::Time now = absl::Now();
  const bool is_over = now >= options.deadline ||
                       (options.cancellation != nullptr && options.cancellation->IsCancelled());
  if (is_over || absl::IsCancelled(error) || absl::IsDeadlineExceeded(error)) return false;
  for (const absl::string_view name : signature_names) {
    const SignatureInfo* signature = (*model)->info().FindSignature(name);
    if (signature != nullptr && !signature->is_pure) return false;
  }
  const ServableId& candidate = model->id();
  const std::optional<int64_t> version = router_->FallbackFor(candidate);
  if (!version) return false;
  absl::StatusOr<ModelHandle> stable =
      models_->Acquire({.name = candidate.name, .version = *version});
  if (!stable.ok()) return false;
  retried_requests_->Get({candidate.name}).Increment();
  // The candidate has its error; for the client, its time was spent waiting.
  RequestTimes& times = *options.times;
  RequestCell& failed = *times.cell;
  RecordEnd(failed.entrypoint(), kMethodNames[static_cast<size_t>(failed.method())], candidate.name,
            error, times, kUnknownTrace, now);
  failure_log_.Note(kEntrypointNames[static_cast<size_t>(failed.entrypoint())],
                    kMethodNames[static_cast<size_t>(failed.method())],
                    absl::StrCat(candidate.name, " version ", candidate.version,
                                 ", asked again of version ", *version),
                    error, kUnknownTrace, now);
  times = {.arrived = times.arrived,
           .waited = now - times.arrived,
           .resumed = now,
           .cell = &(*stable)->request_stats().Begin(failed.method(), failed.entrypoint()),
           .version = *version};
  *model = RoutedModel(*std::move(stable), RoutedModel::Origin::kFallback);
  return true;
}

absl::StatusOr<std::vector<ServableState>> RequestHandler::StatesOf(
    absl::string_view model, std::optional<int64_t> version) const {
  const ServableStateMonitor::VersionStates all = models_->states().StatesOf(model);
  if (version) {
    const auto it = all.find(*version);
    if (it != all.end()) return std::vector<ServableState>{it->second};
    return absl::NotFoundError(
        absl::StrCat("Could not find version ", *version, " of model ", model));
  }
  if (all.empty()) {
    return absl::NotFoundError(absl::StrCat("Could not find any versions of model ", model));
  }
  return InOrder(all);
}

std::map<std::string, std::vector<ServableState>> RequestHandler::ModelStates() const {
  const tensorflow::serving::ModelServerConfig config = models_->config();
  std::map<std::string, std::vector<ServableState>> models;
  for (const auto& model : config.model_config_list().config()) {
    models[model.name()] = InOrder(models_->states().StatesOf(model.name()));
  }
  return models;
}

absl::Status RequestHandler::ApplyConfig(const tensorflow::serving::ModelServerConfig& config,
                                         const CallOptions& options) {
  return models_->ApplyConfig(config, options);
}

bool RequestHandler::IsReady() const { return models_->IsReady(); }

void RequestHandler::RecordRequest(Entrypoint entrypoint, absl::string_view api,
                                   absl::string_view model_name, const absl::Status& status,
                                   const RequestTimes& times, TraceId trace_id) const {
  const absl::Time now = absl::Now();
  RecordEnd(entrypoint, api, model_name, status, times, trace_id, now);
  const std::string code = absl::StatusCodeToString(status.code());
  request_count_->Get({model_name, code}).Increment();
  if (!status.ok()) return;
  request_latency_->Get({model_name, api, entrypoint == Entrypoint::kGrpc ? "GRPC" : "REST"})
      .Record(absl::ToDoubleMicroseconds(now - times.arrived));
}

void RequestHandler::RecordEnd(Entrypoint entrypoint, absl::string_view api,
                               absl::string_view model_name, const absl::Status& status,
                               const RequestTimes& times, TraceId trace_id, absl::Time now) const {
  if (times.cell != nullptr) times.cell->End(status, times, now);
  if (tracer_ == nullptr || !tracer_->Records(TraceLevel::kRuns)) [[likely]]
    return;
  TraceRequest({.method = api,
                .model = model_name,
                .entrypoint = entrypoint,
                .status = status,
                .ended = now,
                .trace_id = trace_id()},
               times, tracer_);
}

}  // namespace tessera::serving
