#include "serving/commands/profile_command.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/profile/trace_export.h"
#include "serving/commands/connection_flags.h"
#include "tsl/profiler/protobuf/profiler_service.grpc.pb.h"

namespace tessera::serving {
namespace {

// The time that a server has for its answer once it has recorded.
constexpr absl::Duration kAnswerTime = absl::Minutes(1);
constexpr float kMaxSeconds = 3600;
constexpr int kBarWidth = 30;
constexpr char kStartOfClearedLine[] = "\r\033[K";

struct Options {
  float seconds = 2;
  std::string output = "trace.json";
  std::string level = "ops";
  ConnectionFlags connection;
};

absl::StatusOr<tensorflow::ProfileRequest> RequestOf(const Options& options) {
  if (!(options.seconds >= 0.001f && options.seconds <= kMaxSeconds)) {
    return UsageError(absl::StrCat("--duration must be from 0.001 to ", kMaxSeconds));
  }
  if (options.level != "ops" && options.level != "requests") {
    return UsageError("--level must be ops or requests");
  }
  tensorflow::ProfileRequest request;
  request.set_duration_ms(static_cast<uint64_t>(options.seconds * 1e3));
  request.set_emit_xspace(true);
  request.mutable_opts()->set_version(1);
  request.mutable_opts()->set_host_tracer_level(options.level == "ops" ? 2 : 1);
  return request;
}

std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       const std::optional<ClientTls>& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto credentials = ChannelCredentialsOf(tls, &arguments);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

// Draws how far the recording is, if the standard error is a terminal, until `done`.
void AwaitWithProgress(absl::Duration duration, const absl::Notification& done) {
  const absl::Time start = absl::Now();
  const bool draws = isatty(STDERR_FILENO) != 0;
  while (!done.WaitForNotificationWithTimeout(absl::Milliseconds(100))) {
    if (!draws) continue;
    const absl::Duration now = std::min(duration, absl::Now() - start);
    const int filled = static_cast<int>(kBarWidth * absl::FDivDuration(now, duration));
    absl::FPrintF(stderr, "%s[%-*s] recorded %.1f of %.1f s", kStartOfClearedLine, kBarWidth,
                  std::string(static_cast<size_t>(filled), '#'), absl::ToDoubleSeconds(now),
                  absl::ToDoubleSeconds(duration));
    std::fflush(stderr);
  }
  if (draws) std::fputs(kStartOfClearedLine, stderr);
}

// Returns the error with its remedy, if there is one that the server cannot know of.
absl::Status Readable(const grpc::Status& status, const std::string& address) {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    absl::StrAppend(&message, "\nasked ", address,
                    ": is a server there? The address is HOST:PORT with the server's --port, "
                    "and --ca is for servers with TLS");
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    message = absl::StrCat("the server at ", address,
                           " has no profiler: it may run with --enable_profiler=false, or this is "
                           "not its --port");
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    absl::StrAppend(&message, "\nthe server at ", address, " did not answer");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), message);
}

void PrintSummary(const tensorflow::profiler::XSpace& space, const std::string& path) {
  int64_t num_events = 0;
  for (const auto& plane : space.planes()) {
    for (const auto& line : plane.lines()) num_events += line.events_size();
  }
  for (const std::string& warning : space.warnings()) {
    absl::FPrintF(stderr, "warning: %s\n", warning);
  }
  if (num_events == 0) std::fputs("nothing happened: no request came in this time\n", stderr);
  absl::PrintF("wrote %s: %d events; open it in %s\n", path, num_events,
               absl::EndsWith(path, ".pb") ? "TensorBoard" : "https://ui.perfetto.dev");
}

absl::Status Profile(const std::string& address, const Options& options) {
  ASSIGN_OR_RETURN(const tensorflow::ProfileRequest request, RequestOf(options));
  RETURN_IF_ERROR(CheckPortOf(address));
  ASSIGN_OR_RETURN(const ConnectionSecurity security, options.connection.Read());
  const std::shared_ptr<grpc::Channel> channel = Connect(address, security.tls);
  // Before anything is recorded, so that a path that cannot be written costs no recording.
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(options.output));
  const auto stub = tensorflow::ProfilerService::NewStub(channel);
  const absl::Duration duration = absl::Milliseconds(request.duration_ms());
  grpc::ClientContext context;
  if (!security.authorization.empty()) {
    context.AddMetadata("authorization", security.authorization);
  }
  context.set_deadline(absl::ToChronoTime(absl::Now() + duration + kAnswerTime));
  tensorflow::ProfileResponse response;
  grpc::Status status;
  absl::Notification done;
  stub->async()->Profile(&context, &request, &response, [&](grpc::Status answer) {
    status = std::move(answer);
    done.Notify();
  });
  AwaitWithProgress(duration, done);
  RETURN_IF_ERROR(Readable(status, address));
  RETURN_IF_ERROR(file.Append(absl::EndsWith(options.output, ".pb")
                                  ? response.xspace().SerializeAsString()
                                  : ToChromeTrace(response.xspace())));
  RETURN_IF_ERROR(file.Commit());
  PrintSummary(response.xspace(), options.output);
  return absl::OkStatus();
}

}  // namespace

Command ProfileCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "profile",
      .summary = "record a trace of a running server",
      .arguments = "ADDRESS",
      .description =
          "Records what a running server does: requests with their phases, waits in queues, runs "
          "of models and their ops, by thread. ADDRESS is HOST:PORT, or unix:PATH, of its gRPC "
          "port.\n\n"
          "The trace is written in the Chrome trace format, which https://ui.perfetto.dev and "
          "chrome://tracing open; a file that is named *.pb gets TensorFlow's XSpace, which "
          "TensorBoard opens as LOGDIR/plugins/profile/RUN/HOST.xplane.pb.",
      .examples = {{"tessera profile 127.0.0.1:8500", "Records 2 seconds to trace.json."},
                   {"tessera profile 127.0.0.1:8500 --duration=10 --level=requests",
                    "Records 10 seconds without ops, which is lighter."}},
  };
  command.flags.Add("duration", &options->seconds, "to record", "SECONDS");
  command.flags.Add("output", &options->output, "the file to write", "FILE");
  command.flags.Add("level", &options->level, "ops, or requests alone with runs", "LEVEL");
  options->connection.AddTo(&command.flags);
  command.run = [options](absl::Span<const std::string> words) -> absl::Status {
    return Profile(words[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
