#include "serving/server/serve_command.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "serving/server/server.h"
#include "serving/server/server_options.h"
#include "serving/server/version.h"

namespace tessera::serving {
namespace {

constexpr int kFailure = 255;

void Print(FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

// Turns signals into Server::Stop(), on a thread of its own, where any code may run.
class SignalWatcher {
 public:
  // Signals stay blocked in threads that are started after this: make it first.
  SignalWatcher() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  void Watch(Server* server) {
    {
      absl::MutexLock lock(&mu_);
      server_ = server;
    }
    thread_ = std::thread([this] { Run(); });
  }
  // Signals end the process at once from now on.
  void Forget() {
    absl::MutexLock lock(&mu_);
    server_ = nullptr;
  }
  ~SignalWatcher() {
    done_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "signals");
    while (true) {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (done_) return;
      absl::MutexLock lock(&mu_);
      if (server_ == nullptr) _exit(128 + signal);
      LOG(INFO) << "signal " << signal << ": finishing requests; another one ends at once";
      std::exchange(server_, nullptr)->Stop();
    }
  }

  sigset_t signals_;
  std::atomic<bool> done_{false};
  absl::Mutex mu_;
  Server* server_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::thread thread_;
};

// Start to end of one server; the exit code.
int Serve(Server& server, absl::Duration grace) {
  if (absl::Status status = server.Start(); !status.ok()) {
    if (absl::IsCancelled(status)) return 0;
    Print(stdout, "Failed to start server. Error: " + status.ToString() + "\n");
    return kFailure;
  }
  server.WaitUntilStopped();
  server.Shutdown(grace);
  return 0;
}

}  // namespace

int ServeCommand(const std::string& program, absl::Span<const std::string> args) {
  ServerOptions options;
  FlagParser flags = options.Flags();
  if (absl::Status status = ParseServerOptions(args, &options, &flags); !status.ok()) {
    if (!absl::IsCancelled(status)) Print(stderr, std::string(status.message()) + "\n");
    Print(stdout, flags.Usage(program));
    return kFailure;
  }
  if (options.version) {
    Print(stdout, std::string("TensorFlow ModelServer: ") + kModelServerVersion +
                      "\nTensorFlow Library: " + kLibraryVersion + "\n");
    return 0;
  }
  if (!flags.unknown().empty()) {
    Print(stdout,
          "unknown argument: " + flags.unknown().front() + "\n" + flags.Usage(program) + "\n");
  }

  SignalWatcher signals;
  auto server = std::make_unique<Server>(options);
  signals.Watch(server.get());
  const int exit_code = Serve(*server, absl::Seconds(options.shutdown_grace_seconds));
  signals.Forget();
  server.reset();
  return exit_code;
}

}  // namespace tessera::serving
