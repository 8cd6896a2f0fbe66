#include "serving/commands/serve_command.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/host/host.h"
#include "runtime/host/restore_priorities.h"
#include "serving/commands/check_config.h"
#include "serving/commands/unknown_argument.h"
#include "serving/server/config_report.h"
#include "serving/server/descriptor_limit.h"
#include "serving/server/effective_config.h"
#include "serving/server/flag_facts.h"
#include "serving/server/platform_config.h"
#include "serving/server/server.h"
#include "serving/server/server_options.h"
#include "serving/server/server_settings.h"
#include "serving/server/version.h"

namespace tessera::serving {
namespace {

constexpr int kFailure = 255;

void Print(FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

// The time limit for unloading after the last request. A load or a disk that hangs must not keep
// the process alive.
constexpr absl::Duration kUnloadLimit = absl::Seconds(5);

// Ends the process without waiting for anything that it does.
[[noreturn]] void EndAtOnce(int exit_code) {
  RestoreThreadPriorities();
  _exit(exit_code);
}

// Turns signals into calls of the server: SIGHUP into ReopenLogs() and ReloadModels(), the others
// into Stop(). The calls run on a thread of their own and not in a signal handler, so that they may
// take locks. After Stop() the process must end within `limit`. As long as there is no server to
// stop, reading its settings may hang: the process then ends at once, and in good order.
class SignalWatcher {
 public:
  // Must be made before other threads start, because it blocks the signals in all later threads.
  explicit SignalWatcher(absl::Duration limit) : limit_(limit) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { Run(); });
  }
  void Watch(Server* server) {
    absl::MutexLock lock(&mu_);
    server_ = server;
  }
  // Makes later signals end the process at once, as if nobody handled them.
  void Forget() {
    absl::MutexLock lock(&mu_);
    server_ = nullptr;
    is_ending_ = true;
  }
  // Ends the process with the exit code if the watcher is not destroyed within the limit.
  void LimitEnd(int exit_code, absl::Duration limit) {
    {
      absl::MutexLock lock(&mu_);
      SetEnd(exit_code, limit);
    }
    Wake(Waking::kForNewEnd);
  }
  ~SignalWatcher() {
    Wake(Waking::kForDone);
    thread_.join();
  }

 private:
  enum class Waking { kNone, kForNewEnd, kForDone };

  // Interrupts the thread, which waits for a signal.
  void Wake(Waking waking) {
    waking_ = waking;
    pthread_kill(thread_.native_handle(), SIGTERM);
  }

  void SetEnd(int exit_code, absl::Duration limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    exit_code_ = exit_code;
    end_ = absl::Now() + limit;
  }

  // Returns the next signal. Ends the process if none comes before the end is due.
  int NextSignal() {
    while (true) {
      absl::Duration left;
      int exit_code;
      {
        absl::MutexLock lock(&mu_);
        left = end_ - absl::Now();
        exit_code = exit_code_;
      }
      if (left <= absl::ZeroDuration()) {
        LOG(WARNING) << "something does not end; leaving without it";
        EndAtOnce(exit_code);
      }
      const timespec pause = absl::ToTimespec(std::min(left, absl::Hours(1)));
      if (const int signal = sigtimedwait(&signals_, nullptr, &pause); signal > 0) return signal;
    }
  }

  void Run() {
    pthread_setname_np(pthread_self(), "signals");
    while (true) {
      const int signal = NextSignal();
      if (signal == SIGTERM) {
        const Waking waking = waking_.exchange(Waking::kNone);
        if (waking == Waking::kForDone) return;
        if (waking == Waking::kForNewEnd) continue;
      }
      absl::MutexLock lock(&mu_);
      if (signal == SIGHUP) {
        LOG(INFO)
            << "SIGHUP: reading again which models to serve, and opening the access log again";
        if (server_ != nullptr) {
          server_->ReopenLogs();
          server_->ReloadModels();
        }
        continue;
      }
      if (server_ == nullptr) EndAtOnce(is_ending_ ? 128 + signal : 0);
      is_ending_ = true;
      LOG(INFO) << "signal " << signal << ": finishing requests; another one ends at once";
      SetEnd(0, limit_);
      std::exchange(server_, nullptr)->Stop();
    }
  }

  const absl::Duration limit_;
  sigset_t signals_;
  std::atomic<Waking> waking_{Waking::kNone};
  absl::Mutex mu_;
  Server* server_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool is_ending_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time end_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();  // when the process must be gone
  int exit_code_ ABSL_GUARDED_BY(mu_) = 0;                        // of that end
  std::thread thread_;
};

// Makes the host of the program and a server on it.
absl::StatusOr<std::unique_ptr<Server>> MakeServer(ServerOptions options) {
  ConfigReport report;
  ApplyPlatformConfig(&options, &report);
  ServerSettings settings = ReadSettings(options, &report);
  if (settings.log_level) SetMinLogSeverity(*settings.log_level);
  report.Log();
  RETURN_IF_ERROR(report.FirstError());
  // The host comes before the threads of the server, some of which have a low priority that the
  // threads of the host would inherit.
  auto host = std::make_shared<Host>(HostOptions(options, settings));
  return std::make_unique<Server>(options, std::move(settings), std::move(host));
}

// Whether the first error stands in a file, about which the list of flags says nothing.
bool IsOfAFile(const ConfigReport& report) {
  for (const ConfigFinding& finding : report.findings()) {
    if (finding.severity == ConfigFinding::kError) return finding.place.line > 0;
  }
  return false;
}

int FailToStart(const absl::Status& status) {
  Print(stdout, "Failed to start server. Error: " + status.ToString() + "\n");
  return kFailure;
}

// Runs one server from its start to its end. Returns the exit code.
int Serve(std::unique_ptr<Server> server, SignalWatcher& signals, absl::Duration grace) {
  const absl::Status status = server->Start();
  if (!status.ok() && !absl::IsCancelled(status)) {
    FailToStart(status);
    signals.Forget();
    signals.LimitEnd(kFailure, kUnloadLimit);
    RestoreThreadPriorities();
    server.reset();
    return kFailure;
  }
  if (status.ok()) server->WaitUntilStopped();
  server->Shutdown(grace);
  signals.Forget();
  RestoreThreadPriorities();  // no request is left that unloading could slow down
  server.reset();
  return 0;
}

int Main(ServerOptions& options, const std::string& program, absl::Span<const std::string> args) {
  FlagParser flags = options.Flags();
  ConfigReport report;
  ParseServerOptions(args, &options, &flags, &report);
  if (options.check_config && !absl::IsCancelled(report.FirstError())) {
    return PrintConfigCheck(std::move(options), flags, args, std::move(report));
  }
  if (const absl::Status& status = report.FirstError(); !status.ok()) {
    if (!absl::IsCancelled(status)) Print(stderr, std::string(status.message()) + "\n");
    if (IsOfAFile(report)) {
      Print(stdout, "The server does not start; --check_config tells everything that is wrong.\n");
    } else {
      Print(stdout, flags.Usage(program));
    }
    return kFailure;
  }
  if (options.version) {
    Print(stdout, std::string("TensorFlow ModelServer: ") + kModelServerVersion +
                      "\nTensorFlow Library: " + kLibraryVersion + "\n");
    return 0;
  }
  if (options.print_config) {
    Print(stdout, ConfigToPrint(options));
    return 0;
  }
  for (const std::string& argument : flags.unknown()) {
    Print(stdout, DescribeUnknownArgument(argument, flags) + "\n");
  }

  // A log that grows beyond a limit, or that nobody reads, fails to be written like one on a full
  // disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();
  const absl::Duration grace = absl::Seconds(std::max(0, options.shutdown_grace_seconds));
  SignalWatcher signals(grace + kUnloadLimit);
  absl::StatusOr<std::unique_ptr<Server>> server = MakeServer(options);
  if (!server.ok()) return FailToStart(server.status());
  signals.Watch(server->get());
  return Serve(*std::move(server), signals, grace);
}

}  // namespace

int ServeCommand(const std::string& program, absl::Span<const std::string> args,
                 ServerOptions defaults) {
  return Main(defaults, program, args);
}

Command ServeCommand() {
  auto options = std::make_shared<ServerOptions>();
  Command command{
      .name = "serve",
      .summary = "serve models over gRPC and REST; takes the flags of tensorflow_model_server",
      .description =
          "Loads models, answers requests to them and follows their directories: a new version "
          "takes over once it is loaded. SIGTERM and SIGINT end the server after the requests "
          "under way, SIGHUP makes it read again which models to serve, and open the access log "
          "again. A flag is --NAME=VALUE.",
      .examples = {{"tessera serve --port=8500 --rest_api_port=8501 --model_name=resnet "
                    "--model_base_path=/models/resnet",
                    "One model."},
                   {"tessera serve --config=/etc/tessera.yaml", "What a YAML file says."},
                   {"tessera serve --config=/etc/tessera.yaml --check-config",
                    "Everything that is wrong with the file and what it names."}},
      .flags = options->Flags(),
      .facts = ServerFlagFacts,
  };
  command.main = [options](const std::string& program, absl::Span<const std::string> args) {
    return Main(*options, program, args);
  };
  return command;
}

}  // namespace tessera::serving
