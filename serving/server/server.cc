#include "serving/server/server.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "serving/servables/saved_model_loader.h"
#include "serving/server/op_libraries.h"
#include "serving/server/platform_config.h"

namespace tessera::serving {

Server::Server(const ServerOptions& options) : options_(options) {}

Server::~Server() {
  Stop();
  Shutdown(absl::ZeroDuration());
}

absl::Status Server::Start() {
  RETURN_IF_ERROR(ApplyPlatformConfig(&options_));
  ASSIGN_OR_RETURN(const ServerSettings settings, ReadSettings(options_));
  ASSIGN_OR_RETURN(const std::vector<std::string> ops, LoadOpLibraries(options_.op_library));
  if (!ops.empty()) LOG(INFO) << "op_library adds the ops " << absl::StrJoin(ops, ", ");
  MakeModels(settings);
  RETURN_IF_ERROR(models_->ApplyConfig(settings.models));
  RETURN_IF_ERROR(StartGrpc(settings));
  StartRest(settings);
  if (!options_.model_config_file.empty() && options_.model_config_file_poll_wait_seconds > 0) {
    config_poller_ = std::thread([this] { PollConfigFile(); });
  }
  return absl::OkStatus();
}

void Server::MakeModels(const ServerSettings& settings) {
  auto loading = std::make_shared<SavedModelLoader::Options>();
  loading->tags = settings.saved_model_tags;
  loading->session = settings.session;
  // All models share these: threads belong to cores, not to models. They are made here, at normal
  // priority; threads that a load makes would keep the loader's low one.
  loading->session.intra_op_pool = std::make_shared<ThreadPool>(
      ThreadPool::Options{.name = "intra_op", .num_threads = settings.session.intra_op_threads});
  loading->session.inter_op_pool = std::make_shared<ThreadPool>(
      ThreadPool::Options{.name = "inter_op", .num_threads = settings.session.inter_op_threads});
  loading->check_method_names = options_.enable_signature_method_name_check;
  loading->metrics = &run_metrics_;
  batch_metrics_ = std::make_unique<BatchMetrics>(&metrics_);
  if (settings.batching) {
    batching_ = std::make_unique<ServerBatching>(*settings.batching, batch_metrics_.get());
    loading->make_run_wrapper = [this](const std::string& directory) {
      return batching_->Wrap(directory);
    };
  }
  if (options_.enable_model_warmup) {
    warm_up_ = std::make_unique<WarmUp>(options_.num_request_iterations_for_warmup, &metrics_);
    loading->warm_up = [this](const std::string& directory,
                              const SavedModelServable& servable) -> absl::Status {
      // A request of our own would wait for others to share a batch with, and be counted in it.
      if (batching_ != nullptr) return warm_up_->RunRecorded(directory, servable);
      std::vector<SampleRequest> samples;
      if (const auto live = models_->AcquireSibling(directory); live.ok()) {
        samples = (*live)->SampleRequests();
      }
      return warm_up_->Run(directory, servable, samples);
    };
  }

  ServedModels::Options models;
  models.manager.num_load_threads = options_.num_load_threads;
  models.manager.num_unload_threads = options_.num_unload_threads;
  models.manager.max_load_retries = options_.max_num_load_retries;
  models.manager.load_retry_interval =
      absl::Microseconds(std::max<int64_t>(0, options_.load_retry_interval_micros));
  models.metrics = &metrics_;
  models.poll_interval = absl::Seconds(options_.file_system_poll_wait_seconds);
  models.allow_labels_for_unavailable_models = options_.allow_version_labels_for_unavailable_models;
  models.loader_factory =
      [loading](const ServableId&,
                const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
    return std::make_unique<SavedModelLoader>(directory, loading);
  };
  absl::MutexLock lock(&stop_mu_);
  models_ = std::make_unique<ServedModels>(std::move(models));
  handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_);
  if (stopped_.HasBeenNotified()) models_->Stop();
}

absl::Status Server::StartGrpc(const ServerSettings& settings) {
  GrpcServer::Options grpc;
  grpc.port = options_.port;
  grpc.socket_path = options_.grpc_socket_path;
  grpc.credentials = settings.credentials;
  grpc.channel_arguments = settings.channel_arguments;
  grpc.max_threads = std::max(1, options_.grpc_max_threads);
  grpc.health_service = options_.enable_grpc_healthcheck_service;
  grpc.prediction.output_form = options_.enable_serialization_as_tensor_content
                                    ? TensorProtoForm::kTensorContent
                                    : TensorProtoForm::kTypedFields;
  ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(grpc, handler_.get()));
  LOG(INFO) << "serving gRPC on port " << grpc_->port();
  return absl::OkStatus();
}

void Server::StartRest(const ServerSettings& settings) {
  if (options_.rest_api_port == 0) return;
  if (options_.rest_api_port == options_.port) {
    LOG(ERROR) << "rest_api_port equals port (" << options_.port << "): REST is not served";
    return;
  }
  RestServer::Options rest;
  rest.port = options_.rest_api_port;
  rest.num_threads = options_.rest_api_num_threads;
  rest.api.timeout = absl::Milliseconds(options_.rest_api_timeout_in_ms);
  rest.api.enable_cors = options_.rest_api_enable_cors_support;
  if (settings.monitoring && settings.monitoring->prometheus_config().enable()) {
    const std::string& path = settings.monitoring->prometheus_config().path();
    rest.api.monitoring_path = path.empty() ? "/monitoring/prometheus/metrics" : path;
  }
  auto started = RestServer::Start(rest, handler_.get());
  if (!started.ok()) {
    LOG(ERROR) << "REST is not served: " << started.status().message();
    return;
  }
  rest_ = *std::move(started);
  LOG(INFO) << "serving REST on port " << rest_->port();
}

void Server::PollConfigFile() {
  pthread_setname_np(pthread_self(), "config_poller");
  do {
    absl::StatusOr<tensorflow::serving::ModelServerConfig> config =
        ReadModelConfigFile(options_.model_config_file);
    const absl::Status status = config.ok() ? models_->ApplyConfig(*config) : config.status();
    if (!status.ok() && !stopped_.HasBeenNotified()) {
      LOG(ERROR) << "model_config_file was not applied, what was served stays: "
                 << status.ToString();
    }
  } while (!stopped_.WaitForNotificationWithTimeout(
      absl::Seconds(options_.model_config_file_poll_wait_seconds)));
}

void Server::Stop() {
  absl::MutexLock lock(&stop_mu_);
  if (stopped_.HasBeenNotified()) return;
  if (models_ != nullptr) models_->Stop();
  stopped_.Notify();
}

void Server::Shutdown(absl::Duration grace) {
  const absl::Time deadline = absl::Now() + grace;
  if (batching_ != nullptr) batching_->Drain();
  // Both at once: neither takes new requests while the other one's finish.
  std::thread rest([&] {
    if (rest_ != nullptr) rest_->Shutdown(deadline);
  });
  if (grpc_ != nullptr) grpc_->Shutdown(deadline);
  rest.join();
  if (config_poller_.joinable()) config_poller_.join();
}

}  // namespace tessera::serving
