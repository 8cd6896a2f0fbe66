#include "serving/frontend/request_handler.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "serving/servables/served_models.h"
#include "serving/servables/serving_proto.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"
#include "tensorflow_serving/apis/get_model_status.pb.h"
#include "tensorflow_serving/apis/model_management.pb.h"

namespace tessera::serving {
namespace {

constexpr char kSignatureDefField[] = "signature_def";
// The value of the label `runtime` of runtime_latency that dashboards select.
constexpr char kRuntime[] = "TF1";

std::vector<double> LatencyBounds() { return ExponentialBounds(10, 1.8, 33); }

void ToProto(const absl::Status& status, tensorflow::serving::StatusProto* proto) {
  proto->set_error_code(static_cast<tensorflow::error::Code>(status.raw_code()));
  proto->set_error_message(std::string(status.message()));
}

// Runs `run` and records its time if it succeeds.
template <typename Run>
absl::Status Timed(HistogramFamily* family, absl::string_view model, absl::string_view api,
                   Run&& run) {
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(run());
  family->Get({model, api, kRuntime}).Record(absl::ToDoubleMicroseconds(absl::Now() - start));
  return absl::OkStatus();
}

}  // namespace

RequestHandler::RequestHandler(ServedModels* models, MetricsRegistry* metrics, Pacer* pacer)
    : models_(models),
      metrics_(metrics),
      pacer_(pacer),
      request_count_(
          metrics->AddCounter("/tensorflow/serving/request_count", {"model_name", "status"})),
      request_latency_(metrics->AddHistogram("/tensorflow/serving/request_latency",
                                             {"model_name", "API", "entrypoint"}, LatencyBounds())),
      runtime_latency_(metrics->AddHistogram("/tensorflow/serving/runtime_latency",
                                             {"model_name", "API", "runtime"}, LatencyBounds())),
      example_counts_(metrics->AddHistogram("/tensorflow/serving/request_example_counts", {"model"},
                                            ExponentialBounds(1, 2, 15))),
      example_count_total_(
          metrics->AddCounter("/tensorflow/serving/request_example_count_total", {"model"})) {
  // The page shows the type of this metric and no values, because this server does not log
  // requests.
  metrics->AddCounter("/tensorflow/serving/request_log_count", {"model_name", "status_code"});
}

RequestHandler::~RequestHandler() = default;

absl::StatusOr<ModelHandle> RequestHandler::FindModel(const ModelSpec& spec) const {
  pacer_->NoteRequest();
  return models_->Acquire(spec);
}

absl::StatusOr<ModelHandle> RequestHandler::FindModel(absl::Span<const InferenceTask> tasks) const {
  ASSIGN_OR_RETURN(ModelHandle model, FindModel(tasks.empty() ? ModelSpec() : tasks[0].model));
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

absl::Status RequestHandler::Predict(const ModelHandle& model, const PredictRequest& request,
                                     const CallOptions& options, PredictResult* result) const {
  return Timed(runtime_latency_, model.id().name, "Predict",
               [&] { return model->Predict(request, options, result); });
}

absl::Status RequestHandler::Classify(const ModelHandle& model, const ExamplesRequest& request,
                                      const CallOptions& options, ClassifyResult* result) const {
  return Timed(runtime_latency_, model.id().name, "Classify",
               [&] { return model->Classify(request, options, result); });
}

absl::Status RequestHandler::Regress(const ModelHandle& model, const ExamplesRequest& request,
                                     const CallOptions& options, RegressResult* result) const {
  return Timed(runtime_latency_, model.id().name, "Regress",
               [&] { return model->Regress(request, options, result); });
}

absl::Status RequestHandler::MultiInference(const ModelHandle& model,
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
  RETURN_IF_ERROR(model->MultiInference(tasks, counted, options, results));
  const std::string& name = model.id().name;
  example_counts_->Get({name}).Record(static_cast<double>(num_examples));
  example_count_total_->Get({name}).Increment(num_examples);
  return absl::OkStatus();
}

absl::Status RequestHandler::GetModelMetadata(
    const tensorflow::serving::GetModelMetadataRequest& request,
    tensorflow::serving::GetModelMetadataResponse* response) const {
  if (!request.has_model_spec()) return absl::InvalidArgumentError("Missing ModelSpec");
  if (request.metadata_field().empty()) {
    return absl::InvalidArgumentError(
        "GetModelMetadataRequest must specify at least one metadata_field");
  }
  for (const std::string& field : request.metadata_field()) {
    if (field != kSignatureDefField) {
      return absl::InvalidArgumentError(
          absl::StrCat("Metadata field ", field, " is not supported"));
    }
  }
  const auto& asked = request.model_spec();
  ASSIGN_OR_RETURN(const ModelHandle model, FindModel(ViewModelSpec(asked)));
  response->mutable_model_spec()->set_name(asked.name());
  response->mutable_model_spec()->mutable_version()->set_value(model.version());
  tensorflow::serving::SignatureDefMap map;
  model->FillSignatureDefs(&map);
  (*response->mutable_metadata())[kSignatureDefField].PackFrom(map);
  return absl::OkStatus();
}

absl::Status RequestHandler::GetModelStatus(
    const tensorflow::serving::GetModelStatusRequest& request,
    tensorflow::serving::GetModelStatusResponse* response) const {
  if (!request.has_model_spec()) return absl::InvalidArgumentError("Missing ModelSpec");
  const auto& spec = request.model_spec();
  const ServableStateMonitor::VersionStates states = models_->states().StatesOf(spec.name());
  auto add = [&](const ServableState& state) {
    auto* status = response->add_model_version_status();
    status->set_version(state.id.version);
    status->set_state(
        static_cast<tensorflow::serving::ModelVersionStatus::State>(static_cast<int>(state.state)));
    ToProto(state.health, status->mutable_status());
  };
  if (spec.has_version()) {
    auto it = states.find(spec.version().value());
    if (it == states.end()) {
      return absl::NotFoundError(absl::StrCat("Could not find version ", spec.version().value(),
                                              " of model ", spec.name()));
    }
    add(it->second);
    return absl::OkStatus();
  }
  if (states.empty()) {
    return absl::NotFoundError(absl::StrCat("Could not find any versions of model ", spec.name()));
  }
  for (const auto& [version, state] : states) add(state);
  return absl::OkStatus();
}

absl::Status RequestHandler::ReloadConfig(const tensorflow::serving::ReloadConfigRequest& request,
                                          tensorflow::serving::ReloadConfigResponse* response,
                                          const CallOptions& options) {
  if (!request.config().has_model_config_list()) {
    return absl::InvalidArgumentError(
        "Request does not contain a model_config_list. Only ModelConfigList is currently "
        "supported");
  }
  std::map<std::string, int64_t> before;
  for (const std::string& name : request.metric_names()) {
    before[name] = metrics_->FirstValue(name).value_or(0);
  }
  const absl::Status status = models_->ApplyConfig(request.config(), options);
  ToProto(status, response->mutable_status());
  for (const auto& [name, value] : before) {
    auto* metric = response->add_metric();
    metric->set_name(name);
    metric->set_int64_value_increase(metrics_->FirstValue(name).value_or(0) - value);
  }
  return status;
}

bool RequestHandler::IsReady() const { return models_->IsReady(); }

void RequestHandler::RecordRequest(Entrypoint entrypoint, absl::string_view api,
                                   absl::string_view model_name, const absl::Status& status,
                                   absl::Duration latency) const {
  const std::string code = absl::StatusCodeToString(status.code());
  request_count_->Get({model_name, code}).Increment();
  if (!status.ok()) return;
  request_latency_->Get({model_name, api, entrypoint == Entrypoint::kGrpc ? "GRPC" : "REST"})
      .Record(absl::ToDoubleMicroseconds(latency));
}

}  // namespace tessera::serving
