#include "serving/commands/health_command.h"

#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"
#include "tensorflow_serving/apis/model_service.grpc.pb.h"

namespace tessera::serving {
namespace {

constexpr uint16_t kRestPort = 8501;
constexpr char kGrpcAddress[] = "127.0.0.1:8500";

struct Options {
  int32_t rest_api_port = 0;
  int32_t port = 0;
  std::string address;
  float timeout_seconds = 5;
};

absl::Status SystemError(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Errors: NOT_FOUND if nothing listens on the port; UNAVAILABLE without an answer, or if the server
// is not ready.
absl::Status AskRest(uint16_t port, absl::Duration timeout) {
  const FileDescriptor server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (server.get() < 0) return SystemError("no socket");
  const timeval limit = absl::ToTimeval(timeout);
  setsockopt(server.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  setsockopt(server.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string where = absl::StrCat("REST port ", port);
  if (connect(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno != ECONNREFUSED) return SystemError(where);
    return absl::NotFoundError(absl::StrCat("nothing listens on ", where));
  }
  constexpr absl::string_view kRequest = "GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n";
  if (send(server.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kRequest.size())) {
    return SystemError(where);
  }
  std::string line(std::strlen("HTTP/1.1 200"), '\0');
  const ssize_t received = recv(server.get(), line.data(), line.size(), MSG_WAITALL);
  if (received < static_cast<ssize_t>(line.size())) {
    return absl::UnavailableError(
        absl::StrCat("no answer on ", where, received < 0 && errno == EAGAIN ? " in time" : ""));
  }
  const absl::string_view status = absl::string_view(line).substr(line.size() - 3);
  if (status == "200") return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the server is not ready: ", where, " answered /readyz with status ", status));
}

absl::Status AskGrpc(const std::string& address, absl::Duration timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto stub = tensorflow::serving::ModelService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  tensorflow::serving::GetModelStatusResponse response;
  // A request without a model, which every model server refuses.
  const grpc::Status status = stub->GetModelStatus(&context, {}, &response);
  if (status.ok() || status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("no model server answers by gRPC at ", address, ": ", status.error_message(),
                   " (one with TLS can be asked on its REST port alone)"));
}

absl::Status PrintHealth(const Options& options) {
  const absl::Duration timeout = absl::Seconds(options.timeout_seconds);
  if (!(options.timeout_seconds > 0)) return UsageError("--timeout must be more than 0");
  for (const int32_t port : {options.rest_api_port, options.port}) {
    if (port < 0 || port > 65535) return UsageError(absl::StrCat(port, " is no port"));
  }
  if ((options.rest_api_port != 0) + (options.port != 0) + !options.address.empty() > 1) {
    return UsageError("one of --rest_api_port, --port and --address, not several");
  }
  absl::Status status;
  if (!options.address.empty()) {
    status = AskGrpc(options.address, timeout);
  } else if (options.port != 0) {
    status = AskGrpc(absl::StrCat("127.0.0.1:", options.port), timeout);
  } else if (options.rest_api_port != 0) {
    status = AskRest(static_cast<uint16_t>(options.rest_api_port), timeout);
  } else {
    status = AskRest(kRestPort, timeout);
    if (absl::IsNotFound(status)) status = AskGrpc(kGrpcAddress, timeout);
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
          "listens there. The gRPC port opens once the models are up, so that any answer there "
          "says that the server is ready.",
      .examples = {{"tessera health", "For the health check of a container."}},
  };
  command.flags.Add("rest_api_port", &options->rest_api_port,
                    "asks GET /readyz on this port of this machine", "PORT");
  command.flags.Add("port", &options->port, "asks by gRPC on this port of this machine", "PORT");
  command.flags.Add("address", &options->address, "asks by gRPC at HOST:PORT or unix:PATH",
                    "ADDRESS");
  command.flags.Add("timeout", &options->timeout_seconds, "for the answer", "SECONDS");
  command.run = [options](absl::Span<const std::string>) { return PrintHealth(*options); };
  return command;
}

}  // namespace tessera::serving
