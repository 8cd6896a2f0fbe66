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

// For the error of a candidate whose request goes on; the end of that request names its trace.
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

// Runs a Predict by `run(request)`. Keeps its inputs, in the order of their names, if all were
// decoded.
template <typename Run>
absl::Status RunKeepingInputs(const PredictRequest& request, Run&& run,
                              std::vector<Tensor>* inputs) {
  size_t num_decoded = 0;
  auto kept_input = [&](size_t i) -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor tensor, request.input(i));
    inputs->resize(request.input_names.size());
    (*inputs)[i] = tensor;
    ++num_decoded;
    return tensor;
  };
  const absl::Status status = run(PredictRequest{.signature_name = request.signature_name,
                                                 .input_names = request.input_names,
                                                 .input = kept_input,
                                                 .output_filter = request.output_filter});
  if (num_decoded < request.input_names.size()) inputs->clear();
  return status;
}

// Runs what asks for examples by `run(examples)`. Keeps them if they were decoded.
template <typename Run>
absl::Status RunKeepingExamples(absl::FunctionRef<absl::StatusOr<Tensor>()> examples, Run&& run,
                                std::vector<Tensor>* kept) {
  auto kept_examples = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor tensor, examples());
    kept->push_back(tensor);
    return tensor;
  };
  return run(kept_examples);
}

// Returns what the router is told of inputs that may have been kept for others.
absl::Span<const Tensor> InputsFor(Interest interest, const std::vector<Tensor>& inputs) {
  if (interest != Interest::kAnswersAndInputs) return {};
  return inputs;
}

// Runs a Classify or a Regress by `run(request)`. Tells the router of it, and logs it by `log`, as
// far as they want to know.
template <typename Result, typename Run, typename Log>
absl::Status ObservedExamples(TrafficRouter* router, const RoutedModel& model, RequestMethod method,
                              const ExamplesRequest& request, const Result& result, bool is_logged,
                              Run&& run, Log&& log) {
  const Interest interest = InterestIn(router, model);
  if (interest == Interest::kNone && !is_logged) [[likely]]
    return run(request);
  std::vector<Tensor> examples;
  const absl::Time start = absl::Now();
  const absl::Status status = RunKeepingExamples(
      request.examples,
      [&](absl::FunctionRef<absl::StatusOr<Tensor>()> kept) {
        return run(ExamplesRequest{request.signature_name, kept});
      },
      &examples);
  const absl::Duration latency = absl::Now() - start;
  if (interest != Interest::kNone) {
    std::vector<NamedOutput> outputs;
    if (status.ok()) outputs = OutputsOf(result);
    router->Observe({.id = model.id(),
                     .method = method,
                     .signature_name = request.signature_name,
                     .inputs = InputsFor(interest, examples),
                     .status = status,
                     .latency = latency,
                     .outputs = outputs});
  }
  if (is_logged && status.ok() && !examples.empty()) log(examples[0]);
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
                               Tracer* tracer, AdmissionControl* admission,
                               const RequestLogging& logs)
    : models_(models),
      metrics_(metrics),
      pacer_(pacer),
      tracer_(tracer),
      admission_(admission),
      logs_(logs),
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
              : metrics->AddCounter("/tessera/serving/rollout_retried_requests", {"model_name"})) {}

RequestHandler::~RequestHandler() = default;

absl::StatusOr<RoutedModel> RequestHandler::FindModel(const ModelSpec& spec,
                                                      RoutingKeys keys) const {
  pacer_->NoteRequest();
  ASSIGN_OR_RETURN(ModelHandle model, models_->Acquire(spec, keys));
  const bool is_drawn = router_ != nullptr && !spec.version && !spec.label;
  return RoutedModel(std::move(model),
                     is_drawn ? RoutedModel::Origin::kDrawn : RoutedModel::Origin::kNamed,
                     LimitsOf(spec.name));
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

std::shared_ptr<const ModelRequestLog> RequestHandler::DrawLog(const RoutedModel& model) const {
  return logs_.requests == nullptr ? nullptr : logs_.requests->Draw(model.id().name);
}

template <typename Run>
absl::Status RequestHandler::RunWithin(const RoutedModel& model, const CallOptions& options,
                                       Run&& run) {
  const absl::Time deadline = model.ticket().deadline();
  if (deadline >= options.deadline) [[likely]]
    return run(options);
  CallOptions limited = options;
  limited.deadline = deadline;
  const absl::Status status = run(limited);
  // One that waited for a batch until its deadline is told of by RESOURCE_EXHAUSTED.
  const bool may_be_late = absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
  if (!may_be_late || absl::Now() < deadline) return status;
  return model.ticket().RunTimedOut();
}

absl::Status RequestHandler::Predict(const RoutedModel& model, const PredictRequest& request,
                                     const CallOptions& options, PredictResult* result) const {
  auto run = [&](const PredictRequest& request) {
    return RunWithin(model, options, [&](const CallOptions& options) {
      return Timed(runtime_latency_, model.id().name, "Predict", options,
                   [&] { return model->Predict(request, options, result); });
    });
  };
  const Interest interest = InterestIn(router_, model);
  const std::shared_ptr<const ModelRequestLog> log = DrawLog(model);
  if (interest == Interest::kNone && log == nullptr) [[likely]]
    return run(request);
  std::vector<Tensor> inputs;
  const bool keeps_inputs = log != nullptr || interest == Interest::kAnswersAndInputs;
  const absl::Time start = absl::Now();
  const absl::Status status = keeps_inputs ? RunKeepingInputs(request, run, &inputs) : run(request);
  const absl::Duration latency = absl::Now() - start;
  if (interest != Interest::kNone) {
    router_->Observe({.id = model.id(),
                      .signature_name = request.signature_name,
                      .input_names = request.input_names,
                      .inputs = InputsFor(interest, inputs),
                      .output_filter = request.output_filter,
                      .status = status,
                      .latency = latency,
                      .outputs = status.ok() ? absl::MakeConstSpan(result->outputs)
                                             : absl::Span<const NamedOutput>()});
  }
  if (log != nullptr && status.ok()) log->AddPredict(model.id(), request, inputs, *result);
  return status;
}

absl::Status RequestHandler::Classify(const RoutedModel& model, const ExamplesRequest& request,
                                      const CallOptions& options, ClassifyResult* result) const {
  const std::shared_ptr<const ModelRequestLog> log = DrawLog(model);
  return ObservedExamples(
      router_, model, RequestMethod::kClassify, request, *result, log != nullptr,
      [&](const ExamplesRequest& request) {
        return RunWithin(model, options, [&](const CallOptions& options) {
          return Timed(runtime_latency_, model.id().name, "Classify", options,
                       [&] { return model->Classify(request, options, result); });
        });
      },
      [&](const Tensor& examples) {
        log->AddClassify(model.id(), request.signature_name, examples, *result);
      });
}

absl::Status RequestHandler::Regress(const RoutedModel& model, const ExamplesRequest& request,
                                     const CallOptions& options, RegressResult* result) const {
  const std::shared_ptr<const ModelRequestLog> log = DrawLog(model);
  return ObservedExamples(
      router_, model, RequestMethod::kRegress, request, *result, log != nullptr,
      [&](const ExamplesRequest& request) {
        return RunWithin(model, options, [&](const CallOptions& options) {
          return Timed(runtime_latency_, model.id().name, "Regress", options,
                       [&] { return model->Regress(request, options, result); });
        });
      },
      [&](const Tensor& examples) {
        log->AddRegress(model.id(), request.signature_name, examples, *result);
      });
}

absl::Status RequestHandler::MultiInference(const RoutedModel& model,
                                            absl::Span<const InferenceTask> tasks,
                                            absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                                            const CallOptions& options,
                                            std::vector<InferenceResult>* results) const {
  std::vector<Tensor> kept;
  const absl::Time start = absl::Now();
  const absl::Status status = RunKeepingExamples(
      examples,
      [&](absl::FunctionRef<absl::StatusOr<Tensor>()> examples) {
        return RunWithin(model, options, [&](const CallOptions& options) {
          return model->MultiInference(tasks, examples, options, results);
        });
      },
      &kept);
  const absl::Duration latency = absl::Now() - start;
  if (const Interest interest = InterestIn(router_, model); interest != Interest::kNone) {
    std::vector<NamedOutput> outputs;
    if (status.ok()) outputs = OutputsOf(*results);
    router_->Observe({.id = model.id(),
                      .method = RequestMethod::kMultiInference,
                      .tasks = tasks,
                      .inputs = InputsFor(interest, kept),
                      .status = status,
                      .latency = latency,
                      .outputs = outputs});
  }
  RETURN_IF_ERROR(status);
  EndOfRun(start, options.times);
  const std::string& name = model.id().name;
  const int64_t num_examples = kept.empty() ? 0 : kept[0].num_elements();
  example_counts_->Get({name}).Record(static_cast<double>(num_examples));
  example_count_total_->Get({name}).Increment(num_examples);
  const std::shared_ptr<const ModelRequestLog> log = DrawLog(model);
  if (log != nullptr && !kept.empty()) log->AddMultiInference(model.id(), tasks, kept[0], *results);
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
  RoutedModel fallback(*std::move(stable), RoutedModel::Origin::kFallback, model->admission());
  fallback.ticket() = std::move(model->ticket());
  *model = std::move(fallback);
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
