// Server: a running model server, made from options and settings.
#pragma once

#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "runtime/host/host.h"
#include "runtime/profile/tracer.h"
#include "serving/admission/admission_control.h"
#include "serving/batching/batch_metrics.h"
#include "serving/core/metrics.h"
#include "serving/frontend/access_log.h"
#include "serving/frontend/admin/admin_server.h"
#include "serving/frontend/dashboard/dashboard.h"
#include "serving/frontend/dashboard/version_history.h"
#include "serving/frontend/grpc/grpc_server.h"
#include "serving/frontend/grpc/profiler_service.h"
#include "serving/frontend/kserve/model_repository.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_server.h"
#include "serving/logging/request_log.h"
#include "serving/rollout/mirror.h"
#include "serving/rollout/rollouts.h"
#include "serving/servables/saved_model/run_metrics.h"
#include "serving/servables/served_models.h"
#include "serving/servables/warm_up.h"
#include "serving/server/server_batching.h"
#include "serving/server/server_options.h"
#include "serving/server/server_settings.h"

namespace tessera::serving {

// Returns the threads that a server with these options and settings needs.
Host::Options HostOptions(const ServerOptions& options, const ServerSettings& settings);

// One model server, in this process.
//
//   ConfigReport report;
//   ApplyPlatformConfig(&options, &report);
//   ServerSettings settings = ReadSettings(options, &report);
//   RETURN_IF_ERROR(report.FirstError());
//   auto host = std::make_shared<Host>(HostOptions(options, settings));
//   Server server(options, std::move(settings), host);
//   RETURN_IF_ERROR(server.Start());      // models are up, then ports are open
//   ... server.Stop() from a signal ...
//   server.WaitUntilStopped();
//   server.Shutdown(absl::Seconds(10));
//
// Thread-safe, except that one thread must call Start() and then Shutdown().
class Server {
 public:
  // `settings` are those that ReadSettings() returned for the options. `host` has the threads of
  // the program.
  Server(const ServerOptions& options, ServerSettings settings, std::shared_ptr<Host> host);
  // Cancels the requests that still run, then unloads the models.
  ~Server();

  // Loads op libraries, opens the admin address if there is one, loads models, waits until a
  // version of each model is available or has failed, and then opens the gRPC port and the REST
  // port. Errors: those of LoadOpLibraries() and AdminServer::Start(); UNKNOWN if a model failed;
  // INVALID_ARGUMENT if the gRPC port is taken; CANCELLED if Stop() came first. A REST port that
  // cannot be opened is logged.
  absl::Status Start();

  // Asks the server to read the file again that names its models. Returns at once. A file with
  // errors changes nothing. The outcome is logged.
  void ReloadModels();

  // Lets the access log go on in a new file, after the old one was renamed.
  void ReopenLogs();

  // Asks the server to stop. Returns at once. Ends a Start() that waits for models.
  void Stop();
  void WaitUntilStopped() { stopped_.WaitForNotification(); }
  // Accepts no more requests. Returns when running ones have ended, or after `grace`.
  void Shutdown(absl::Duration grace);

  RequestHandler& handler() { return *handler_; }
  // Requires that Start() was called.
  RolloutAdmin& rollouts() { return *rollouts_; }
  MetricsRegistry& metrics() { return metrics_; }

 private:
  absl::Status OpenAccessLog();
  void MakeModels();
  void MakeMirror();
  void MakeDashboard();
  absl::Status StartAdmin();
  absl::Status StartGrpc();
  void StartRest();
  // Body of the thread that applies new configurations of models.
  void RunReloads();
  // `asked`: by a signal, so that the outcome is logged in any case. Returns whether all is well.
  bool Reload(bool asked);
  // Logs what this server is and what it is going to serve.
  void LogStart() const;
  // Applies models that were read again, with their rollouts and limits. Sets `*was_applied` if
  // they are in force, even if some are not available. Errors: those of
  // ServedModels::ApplyConfig().
  absl::Status ApplyAgain(const ModelSettings& now, bool* was_applied);

  const ServerOptions options_;
  const ServerSettings settings_;
  const std::shared_ptr<Host> host_;
  MetricsRegistry metrics_;
  Tracer tracer_;
  const std::vector<std::unique_ptr<MetricsRegistry::Collection>> process_metrics_;
  std::unique_ptr<MetricsRegistry::Collection> refused_tokens_;  // null without a token file
  RunMetrics run_metrics_{&metrics_};
  absl::Mutex stop_mu_;  // also guards the making of access_log_
  absl::Notification stopped_;
  // Start() makes these. stop_mu_ guards the making of models_.
  std::unique_ptr<BatchMetrics> batch_metrics_;
  std::unique_ptr<ServerBatching> batching_;
  std::unique_ptr<WarmUp> warm_up_;
  std::unique_ptr<RequestLog> request_log_;
  std::unique_ptr<AccessLog> access_log_;  // null if there is none
  VersionHistory history_;                 // kept where the dashboard is served
  std::unique_ptr<Rollouts> rollouts_;
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<Mirror> mirror_;  // null before the first rollout
  AdmissionControl admission_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<ModelRepository> repository_;
  std::unique_ptr<Dashboard> dashboard_;  // null where it is not served
  ProfilerService profiler_{&tracer_};
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<RestServer> rest_;
  std::unique_ptr<AdminServer> admin_;
  absl::Mutex reload_mu_;
  bool reload_asked_ ABSL_GUARDED_BY(reload_mu_) = false;
  std::string reload_problem_;  // as logged last; empty if there is none; the reloader's
  std::filesystem::file_time_type reload_problem_file_;  // when the file with it was written
  std::thread reloader_;
};

}  // namespace tessera::serving
