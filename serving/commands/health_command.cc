#include "serving/commands/health_command.h"

#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "inference/grpc_service.grpc.pb.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"
#include "serving/commands/connection_flags.h"
#include "serving/commands/load/request_target.h"

namespace tessera::serving {
namespace {

constexpr uint16_t kRestPort = 8501;
constexpr uint16_t kGrpcPort = 8500;

struct Options {
  int32_t rest_api_port = 0;
  int32_t port = 0;
  std::string address;
  float timeout_seconds = 5;
  ConnectionFlags connection;
};

// Whether something accepts connections on a port of this machine.
bool IsOpen(uint16_t port) {
  const FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

absl::Status AskRest(uint16_t port, const ConnectionSecurity& security, absl::Duration timeout) {
  const RequestTarget::Options options = {
      .url = absl::StrCat("rest://127.0.0.1:", port, "/readyz"),
      .tls = security.tls,
      .timeout = timeout,
  };
  ASSIGN_OR_RETURN(const auto target, MakeRequestTarget(options, {""}));
  absl::Status answer;
  absl::Notification done;
  target->Send(0, [&](const absl::Status& status, absl::string_view) {
    answer = status;
    done.Notify();
  });
  done.WaitForNotification();
  if (answer.ok()) return answer;
  return absl::UnavailableError(
      absl::StrCat("the server is not ready: REST port ", port, ": ", answer.message()));
}

absl::Status AskGrpc(const std::string& address, const ConnectionSecurity& security,
                     absl::Duration timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto credentials = ChannelCredentialsOf(security.tls, &arguments);
  const auto stub = inference::GRPCInferenceService::NewStub(
      grpc::CreateCustomChannel(address, credentials, arguments));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  if (!security.authorization.empty()) {
    context.AddMetadata("authorization", security.authorization);
  }
  inference::ServerReadyResponse response;
  const grpc::Status status = stub->ServerReady(&context, {}, &response);
  if (status.ok()) {
    if (response.ready()) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the server is not ready: a model has no available version, as GET /readyz "
                     "tells, or the server is ending"));
  }
  return absl::UnavailableError(absl::StrCat("no model server answers by gRPC at ", address, ": ",
                                             status.error_message(),
                                             security.tls ? "" : " (one with TLS needs --ca)"));
}

absl::Status PrintHealth(const Options& options) {
  const absl::Duration timeout = absl::Seconds(options.timeout_seconds);
  if (!(options.timeout_seconds > 0)) return UsageError("--timeout must be more than 0");
  for (const int32_t port : {options.rest_api_port, options.port}) {
    if (port < 0 || port > 65535) return UsageError(absl::StrCat(port, " is no port"));
  }
  RETURN_IF_ERROR(CheckPortOf(options.address));
  if ((options.rest_api_port != 0) + (options.port != 0) + !options.address.empty() > 1) {
    return UsageError("one of --rest_api_port, --port and --address, not several");
  }
  ASSIGN_OR_RETURN(const ConnectionSecurity security, options.connection.Read());
  absl::Status status;
  if (!options.address.empty()) {
    status = AskGrpc(options.address, security, timeout);
  } else if (options.rest_api_port != 0 || (options.port == 0 && IsOpen(kRestPort))) {
    const int port = options.rest_api_port != 0 ? options.rest_api_port : kRestPort;
    status = AskRest(static_cast<uint16_t>(port), security, timeout);
  } else {
    const int port = options.port != 0 ? options.port : kGrpcPort;
    status = AskGrpc(absl::StrCat("127.0.0.1:", port), security, timeout);
  }
  RETURN_IF_ERROR(status);
  std::puts("ready");
  return absl::OkStatus();
}

}  // namespace

Command HealthCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "health",
      .summary = "ask a server whether it is ready",
      .description =
          "Asks a server on this machine whether it is ready. The exit code is 0 if it is, and 1 "
          "if not. Without a port, REST on port 8501 is asked, and gRPC on port 8500 if nothing "
          "listens there. A server is ready while each of its models has an available version.",
      .examples = {{"tessera health", "For the health check of a container."}},
  };
  command.flags.Add("rest_api_port", &options->rest_api_port,
                    "asks GET /readyz on this port of this machine", "PORT");
  command.flags.Add("port", &options->port, "asks by gRPC on this port of this machine", "PORT");
  command.flags.Add("address", &options->address, "asks by gRPC at HOST:PORT or unix:PATH",
                    "ADDRESS");
  command.flags.Add("timeout", &options->timeout_seconds, "for the answer", "SECONDS");
  options->connection.AddTo(&command.flags);
  command.run = [options](absl::Span<const std::string>) { return PrintHealth(*options); };
  return command;
}

}  // namespace tessera::serving
