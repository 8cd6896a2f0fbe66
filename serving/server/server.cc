#include "serving/server/server.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/tensor/large_blocks.h"
#include "serving/core/process_metrics.h"
#include "serving/frontend/grpc/port_check.h"
#include "serving/servables/saved_model/saved_model_loader.h"
#include "serving/servables/saved_model/whole_version.h"
#include "serving/servables/servable.h"
#include "serving/server/effective_config.h"
#include "serving/server/op_libraries.h"
#include "serving/server/version.h"
#include "serving/sources/model_config.h"

namespace tessera::serving {
namespace {

// The time that a reload waits for the first outcome of new models.
constexpr absl::Duration kReloadWait = absl::Seconds(10);

// The least time that the admin address has for answering what it was asked.
constexpr absl::Duration kAdminGrace = absl::Seconds(1);

// Gives back to the system what malloc and the pool of large blocks keep of an unloaded version.
void TrimMemory() {
  ReleaseFreeMemory();
  malloc_trim(0);
}

// Whether the dashboard is served on some address.
bool HasDashboard(const ServerOptions& options) {
  return options.admin_port != 0 || options.enable_dashboard;
}

}  // namespace

Host::Options HostOptions(const ServerOptions& options, const ServerSettings& settings) {
  return {.intra_op_threads = settings.session.intra_op_threads,
          .inter_op_threads = settings.session.inter_op_threads,
          .background = Host::Background{.priority = settings.load_priority,
                                         .cpu_share = options.load_cpu_share}};
}

Server::Server(const ServerOptions& options, ServerSettings settings, std::shared_ptr<Host> host)
    : options_(options),
      settings_(std::move(settings)),
      host_(std::move(host)),
      process_metrics_(CollectProcess(&metrics_)),
      admission_(&host_->shares(), &metrics_) {
  admission_.SetLimits(settings_.limits);
  if (settings_.access.tokens != nullptr) {
    refused_tokens_ = metrics_.Collect(
        "/tessera/serving/refused_tokens", prometheus::MetricType::Counter, {},
        [tokens = settings_.access.tokens] {
          return std::vector<MetricSample>{{{}, static_cast<double>(tokens->num_refused())}};
        });
  }
  metrics_.AddGauge("/tessera/serving/build_info", {"version", "tensorflow_serving", "tensorflow"})
      ->Get({kVersion, kModelServerVersion, kLibraryVersion})
      .Set(1);
  if (settings_.memory_limit > 0) {
    metrics_.AddGauge("/tessera/serving/memory_limit_bytes", {})
        ->Get({})
        .Set(static_cast<double>(settings_.memory_limit));
  }
}

Server::~Server() {
  Stop();
  Shutdown(absl::ZeroDuration());
}

absl::Status Server::Start() {
  LogStart();
  ASSIGN_OR_RETURN(const std::vector<std::string> ops, LoadOpLibraries(options_.op_library));
  if (!ops.empty()) LOG(INFO) << "op_library adds the ops " << absl::StrJoin(ops, ", ");
  // Asked before models load, which may take long.
  for (const absl::Status& is_free :
       {CheckDescriptorsAreFree(kDescriptorsToListen), CheckPortIsFree(options_.port),
        CheckSocketIsFree(options_.grpc_socket_path)}) {
    RETURN_IF_ERROR(Annotate(is_free, "Failed to BuildAndStart gRPC server: "));
  }
  RETURN_IF_ERROR(OpenAccessLog());
  MakeModels();
  MakeDashboard();
  RETURN_IF_ERROR(StartAdmin());  // shows how models load, too
  RETURN_IF_ERROR(models_->ApplyConfig(settings_.models));
  if (settings_.load_priority != ThreadPriority::kNormal) models_->StartYielding();
  RETURN_IF_ERROR(StartGrpc());
  StartRest();
  reloader_ = std::thread([this] { RunReloads(); });
  return absl::OkStatus();
}

absl::Status Server::OpenAccessLog() {
  if (options_.access_log.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<AccessLog>> log = AccessLog::Open(options_.access_log, &metrics_);
  if (!log.ok()) return Annotate(log.status(), "access_log: ");
  absl::MutexLock lock(&stop_mu_);
  access_log_ = *std::move(log);
  return absl::OkStatus();
}

void Server::MakeModels() {
  auto loading = std::make_shared<SavedModelLoader::Options>();
  loading->tags = settings_.saved_model_tags;
  loading->session = settings_.session;
  loading->session.host = host_;
  loading->check_method_names = options_.enable_signature_method_name_check;
  loading->metrics = &run_metrics_;
  loading->tracer = &tracer_;
  batch_metrics_ = std::make_unique<BatchMetrics>(&metrics_);
  if (settings_.batching) {
    batching_ = std::make_unique<ServerBatching>(*settings_.batching, batch_metrics_.get());
    loading->make_run_wrapper = [this](const ServableId& id, const std::string& directory) {
      return batching_->Wrap(id, directory);
    };
  }
  if (options_.enable_model_warmup) {
    warm_up_ = std::make_unique<WarmUp>(options_.num_request_iterations_for_warmup, &metrics_);
    loading->warm_up = [this](const std::string& directory, const Servable& servable,
                              absl::Span<const int64_t> likely_rows) -> absl::Status {
      std::vector<SampleRequest> samples;
      if (const auto live = models_->Acquire({.name = servable.info().id.name}); live.ok()) {
        samples = (*live)->SampleRequests();
      }
      return warm_up_->Run(directory, servable, samples, likely_rows);
    };
  }

  ServedModels::Options models;
  models.manager.num_load_threads = options_.num_load_threads;
  models.manager.num_unload_threads = options_.num_unload_threads;
  models.manager.max_load_retries = options_.max_num_load_retries;
  models.manager.load_retry_interval =
      absl::Microseconds(std::max<int64_t>(0, options_.load_retry_interval_micros));
  models.metrics = &metrics_;
  request_log_ = std::make_unique<RequestLog>(RequestLog::Options{
      .rotation = settings_.request_log,
      .saved_model_tags = {settings_.saved_model_tags.begin(), settings_.saved_model_tags.end()},
      .metrics = &metrics_});
  models.on_config = [this](const auto& config) { request_log_->Apply(config); };
  models.manager.memory_limit = settings_.memory_limit;
  models.manager.priority = settings_.load_priority;
  models.manager.background_pool = host_->background_pool();
  models.manager.load_cores = host_->background_cores();
  if (settings_.load_priority != ThreadPriority::kNormal) models.manager.pacer = &host_->pacer();
  models.manager.trim_memory = TrimMemory;
  if (HasDashboard(options_)) {
    models.manager.report_load = [this](const LoadReport& report) { history_.Add(report); };
  }
  models.source = {.poll_interval = absl::Seconds(options_.file_system_poll_wait_seconds),
                   .settle_time = absl::Seconds(options_.version_settle_seconds),
                   .marker_file = options_.version_marker_file,
                   .is_whole = IsWholeVersion};
  rollouts_ = std::make_unique<Rollouts>(Rollouts::Options{
      .configs = settings_.rollouts,
      .state_file = settings_.rollout_state_file,
      .metrics = &metrics_,
  });
  models.gate = rollouts_.get();
  models.router = rollouts_->router();
  models.allow_labels_for_unavailable_models = options_.allow_version_labels_for_unavailable_models;
  models.platforms[kTensorFlowPlatform] =
      [loading](const ServableId& id,
                const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
    return std::make_unique<SavedModelLoader>(id, directory, loading);
  };
  absl::MutexLock lock(&stop_mu_);
  models_ = std::make_unique<ServedModels>(std::move(models));
  if (!settings_.rollouts.empty()) MakeMirror();
  handler_ = std::make_unique<RequestHandler>(
      models_.get(), &metrics_, &host_->pacer(), &tracer_, &admission_,
      RequestLogging{.requests = request_log_.get(), .access = access_log_.get()});
  repository_ = std::make_unique<ModelRepository>(
      ModelRepository::Options{.server_version = kVersion,
                               .allow_model_control = options_.enable_model_control},
      handler_.get(), models_.get());
  if (stopped_.HasBeenNotified()) models_->Stop();
}

void Server::MakeMirror() {
  mirror_ =
      std::make_unique<Mirror>(Mirror::Options{.background_pool = host_->background_pool(),
                                               .cores = host_->background_cores(),
                                               .priority = settings_.load_priority,
                                               .pacer = &host_->pacer(),
                                               .metrics = &metrics_},
                               [this](const ServableId& id) {
                                 return models_->Acquire({.name = id.name, .version = id.version});
                               });
  rollouts_->SetMirror(mirror_.get());
}

void Server::MakeDashboard() {
  if (!HasDashboard(options_)) return;
  Dashboard::Options dashboard;
  dashboard.sources = {.server_version = kVersion,
                       .started = absl::Now(),
                       .memory_limit = settings_.memory_limit,
                       .models = models_.get(),
                       .history = &history_,
                       .metrics = &metrics_,
                       .rollouts = rollouts_.get()};
  dashboard.config = [this] {
    RolloutConfigs rollouts;
    for (const RolloutStatus& status : rollouts_->Statuses()) {
      rollouts[status.model()] = status.config();
    }
    return EffectiveConfig(options_, models_->config(), rollouts, admission_.configs());
  };
  dashboard.rest.timeout = absl::Milliseconds(options_.rest_api_timeout_in_ms);
  dashboard_ =
      std::make_unique<Dashboard>(std::move(dashboard), models_.get(), &history_, handler_.get());
}

absl::Status Server::StartAdmin() {
  if (options_.admin_port == 0) return absl::OkStatus();
  AdminServer::Options admin;
  admin.port = options_.admin_port;
  admin.address = options_.admin_address;
  admin.token_file = options_.admin_token_file;
  if (options_.admin_ssl) admin.certificates = settings_.access.certificates;
  admin.rollouts = rollouts_.get();
  admin.routes = dashboard_->AdminRoutes();
  ASSIGN_OR_RETURN(admin_, AdminServer::Start(std::move(admin)));
  LOG(INFO) << "serving the admin address on " << options_.admin_address << " port "
            << admin_->port();
  return absl::OkStatus();
}

absl::Status Server::StartGrpc() {
  GrpcServer::Options grpc;
  grpc.port = options_.port;
  grpc.socket_path = options_.grpc_socket_path;
  grpc.access = {.certificates = settings_.access.certificates,
                 .alts = options_.use_alts_credentials,
                 .tokens = settings_.access.tokens,
                 .access_log = access_log_.get()};
  grpc.channel_arguments = settings_.channel_arguments;
  grpc.max_threads = std::max(1, options_.grpc_max_threads);
  grpc.host = host_.get();
  grpc.health_service = options_.enable_grpc_healthcheck_service;
  grpc.prediction.output_form = options_.enable_serialization_as_tensor_content
                                    ? TensorProtoForm::kTensorContent
                                    : TensorProtoForm::kTypedFields;
  if (options_.enable_profiler) grpc.services.push_back(&profiler_);
  ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(grpc, handler_.get(), repository_.get()));
  std::vector<std::string> places;
  if (grpc_->port() != 0) places.push_back(absl::StrCat("port ", grpc_->port()));
  if (!grpc.socket_path.empty()) places.push_back(grpc.socket_path);
  LOG(INFO) << "serving gRPC on " << absl::StrJoin(places, " and ");
  return absl::OkStatus();
}

void Server::StartRest() {
  if (options_.rest_api_port == 0) return;
  if (options_.rest_api_port == options_.port) {
    LOG(ERROR) << "rest_api_port equals port (" << options_.port << "): REST is not served";
    return;
  }
  RestServer::Options rest;
  rest.port = options_.rest_api_port;
  rest.num_threads = options_.rest_api_num_threads;
  rest.host = host_.get();
  rest.api.timeout = absl::Milliseconds(options_.rest_api_timeout_in_ms);
  rest.api.enable_cors = options_.rest_api_enable_cors_support;
  rest.api.tokens = settings_.access.tokens;
  if (options_.rest_api_ssl) rest.certificates = settings_.access.certificates;
  if (settings_.monitoring && settings_.monitoring->prometheus_config().enable()) {
    const std::string& path = settings_.monitoring->prometheus_config().path();
    rest.api.monitoring_path = path.empty() ? "/monitoring/prometheus/metrics" : path;
  }
  if (options_.enable_dashboard) rest.api.pages = dashboard_->ReadOnlyRoutes();
  auto started = RestServer::Start(rest, handler_.get(), repository_.get());
  if (!started.ok()) {
    LOG(ERROR) << "REST is not served: " << started.status().message();
    return;
  }
  rest_ = *std::move(started);
  LOG(INFO) << "serving REST on port " << rest_->port();
}

void Server::ReopenLogs() {
  absl::MutexLock lock(&stop_mu_);
  if (access_log_ != nullptr) access_log_->Reopen();
}

void Server::ReloadModels() {
  absl::MutexLock lock(&reload_mu_);
  reload_asked_ = true;
}

void Server::RunReloads() {
  pthread_setname_np(pthread_self(), "reload");
  const bool from_file = !options_.model_config_file.empty() || options_.models.has_value();
  const bool polls = from_file && options_.model_config_file_poll_wait_seconds > 0;
  const absl::Duration interval = polls
                                      ? absl::Seconds(options_.model_config_file_poll_wait_seconds)
                                      : absl::InfiniteDuration();
  if (polls) Reload(/*asked=*/false);
  while (!stopped_.HasBeenNotified()) {
    bool asked = false;
    {
      absl::MutexLock lock(&reload_mu_);
      asked = reload_mu_.AwaitWithTimeout(absl::Condition(&reload_asked_), interval);
      reload_asked_ = false;
    }
    if (stopped_.HasBeenNotified()) return;
    if (!from_file) {
      LOG(INFO) << "the models come from flags, which do not change; models that may change are "
                   "named in a file, by --model_config_file or --config";
      continue;
    }
    const bool is_well = Reload(asked);
    if (asked && is_well) LOG(INFO) << "the models were read again, as asked";
  }
}

absl::Status Server::ApplyAgain(const ModelSettings& now, bool* was_applied) {
  // Models that take longer go on loading without delaying the next reload.
  return models_->ApplyConfig(now.models, {.deadline = absl::Now() + kReloadWait}, [&] {
    if (!now.rollouts.empty() && mirror_ == nullptr) MakeMirror();
    *was_applied = true;
    rollouts_->SetConfigs(now.rollouts);
    admission_.SetLimits(now.limits);
  });
}

bool Server::Reload(bool asked) {
  const absl::StatusOr<ModelSettings> models = ReadModelsAgain(options_);
  bool was_applied = false;
  const absl::Status status = models.ok() ? ApplyAgain(*models, &was_applied) : models.status();
  if (stopped_.HasBeenNotified()) return false;
  if (status.ok()) {
    // The same configuration is applied again without waiting for models that have failed.
    if (!reload_problem_.empty() && models_->IsReady()) {
      reload_problem_.clear();
      LOG(INFO) << "the models were read again, and all is well again";
    }
    return true;
  }
  std::string problem =
      absl::StrCat(was_applied ? "the models were read again: "
                               : "the models read again were not applied, what was served stays: ",
                   status.ToString());
  // A lasting problem is logged once, and again when the file was written anew with it.
  std::error_code no_file;
  const auto written = std::filesystem::last_write_time(
      options_.model_config_file.empty() ? options_.config : options_.model_config_file, no_file);
  if (!asked && problem == reload_problem_ && written == reload_problem_file_) return false;
  LOG(ERROR) << problem;
  reload_problem_ = std::move(problem);
  reload_problem_file_ = written;
  return false;
}

void Server::LogStart() const {
  std::vector<std::string> models;
  for (const auto& model : settings_.models.model_config_list().config()) {
    models.push_back(absl::StrCat("'", model.name(), "' of ", model.base_path()));
  }
  LOG(INFO) << "TensorFlow ModelServer " << kModelServerVersion << " on " << AvailableCores()
            << " cores; batching is " << (settings_.batching ? "on" : "off")
            << "; ports open once there is a version of each model: "
            << (models.empty() ? "none is configured" : absl::StrJoin(models, ", "));
}

void Server::Stop() {
  absl::MutexLock lock(&stop_mu_);
  if (stopped_.HasBeenNotified()) return;
  if (models_ != nullptr) {
    models_->Stop();
    if (warm_up_ != nullptr) warm_up_->Stop();
  }
  stopped_.Notify();
  ReloadModels();  // wakes its thread, which sees that it is over
}

void Server::Shutdown(absl::Duration grace) {
  const absl::Time deadline = absl::Now() + grace;
  if (batching_ != nullptr) batching_->Drain();
  profiler_.EndCalls();
  // Both at once, so that neither accepts requests while the other finishes its own.
  // One after the other where the system has no thread for it, which std::async() sees to.
  std::future<void> rest = std::async(std::launch::async | std::launch::deferred, [&] {
    if (rest_ != nullptr) rest_->Shutdown(deadline);
  });
  if (grpc_ != nullptr) grpc_->Shutdown(deadline);
  rest.get();
  // Last, so that it shows how the server drains. What its form asks counts as a request.
  if (dashboard_ != nullptr) dashboard_->Cancel();
  if (admin_ != nullptr) admin_->Shutdown(std::max(deadline, absl::Now() + kAdminGrace));
  if (reloader_.joinable()) reloader_.join();
}

}  // namespace tessera::serving
