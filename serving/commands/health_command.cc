#include "serving/commands/health_command.h"

#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"
#include "tensorflow_serving/apis/model_service.grpc.pb.h"

namespace tessera::serving {
namespace {

constexpr char kHelp[] =
    "usage: tessera health [OPTIONS]\n"
    "\n"
    "Asks a server whether it is ready. The exit code is 0 if it is, and 1 if not.\n"
    "\n"
    "  --rest_api_port=N     asks GET /readyz on this port of this machine\n"
    "  --port=N              asks by gRPC on this port of this machine\n"
    "  --address=ADDRESS     asks by gRPC at HOST:PORT or unix:PATH\n"
    "  --timeout=SECONDS     for the answer (5)\n"
    "  --help                this text\n"
    "\n"
    "Without a port, REST on port 8501 is asked, and gRPC on port 8500 if nothing listens there.\n"
    "The gRPC port opens once the models are up, so that any answer there says that the server is\n"
    "ready.\n";

constexpr uint16_t kRestPort = 8501;
constexpr char kGrpcAddress[] = "127.0.0.1:8500";

struct Arguments {
  std::string grpc_address;
  uint16_t rest_port = 0;
  absl::Duration timeout = absl::Seconds(5);
  bool help = false;
};

absl::StatusOr<Arguments> Parse(absl::Span<const std::string> args) {
  Arguments result;
  for (absl::string_view arg : args) {
    const absl::string_view whole = arg;
    uint32_t port = 0;
    double seconds = 0;
    const auto is_port = [&] { return absl::SimpleAtoi(arg, &port) && port > 0 && port < 65536; };
    if (arg == "--help") {
      result.help = true;
      return result;
    }
    if (absl::ConsumePrefix(&arg, "--rest_api_port=") && is_port()) {
      result.rest_port = static_cast<uint16_t>(port);
    } else if (absl::ConsumePrefix(&arg, "--port=") && is_port()) {
      result.grpc_address = absl::StrCat("127.0.0.1:", port);
    } else if (absl::ConsumePrefix(&arg, "--address=") && !arg.empty()) {
      result.grpc_address = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--timeout=") && absl::SimpleAtod(arg, &seconds) &&
               seconds > 0) {
      result.timeout = absl::Seconds(seconds);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("wrong argument '", whole, "'"));
    }
  }
  if (result.rest_port != 0 && !result.grpc_address.empty()) {
    return absl::InvalidArgumentError("either a REST port or gRPC, not both");
  }
  return result;
}

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

absl::Status Ask(const Arguments& arguments) {
  if (!arguments.grpc_address.empty()) return AskGrpc(arguments.grpc_address, arguments.timeout);
  if (arguments.rest_port != 0) return AskRest(arguments.rest_port, arguments.timeout);
  const absl::Status status = AskRest(kRestPort, arguments.timeout);
  return absl::IsNotFound(status) ? AskGrpc(kGrpcAddress, arguments.timeout) : status;
}

}  // namespace

int HealthCommand(absl::Span<const std::string> args) {
  const absl::StatusOr<Arguments> arguments = Parse(args);
  if (!arguments.ok()) {
    std::fprintf(stderr, "tessera health: %s\n%s",
                 std::string(arguments.status().message()).c_str(), kHelp);
    return 2;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const absl::Status status = Ask(*arguments);
  if (!status.ok()) {
    std::fprintf(stderr, "tessera health: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  std::puts("ready");
  return 0;
}

}  // namespace tessera::serving
