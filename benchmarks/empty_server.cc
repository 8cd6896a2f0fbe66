// A server that answers nothing as quickly as the libraries can: the floor under ours.
//
//   empty_server --port=8500 --rest_api_port=8501 [--echo]
//
// By gRPC, PredictionService's Predict as an empty callback method: the request stays bytes, the
// reply has none or, with --echo, is those bytes, which nobody copies or looks at. By HTTP, Beast
// reads a request and writes an empty reply, as many threads as there are cores. Prints "ready"
// when both ports are open and ends when its input does.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

class EmptyPredict final
    : public tensorflow::serving::PredictionService::WithRawCallbackMethod_Predict<
          tensorflow::serving::PredictionService::Service> {
 public:
  explicit EmptyPredict(bool echo) : echo_(echo) {}

 private:
  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override {
    *response = echo_ ? *request : grpc::ByteBuffer(nullptr, 0);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const bool echo_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Tcp::socket socket) : stream_(std::move(socket)) {
    stream_.socket().set_option(Tcp::no_delay(true));
  }

  void Read() {
    request_ = {};
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       if (!error) self->Write();
                     });
  }

 private:
  void Write() {
    response_ = {http::status::ok, request_.version()};
    response_.keep_alive(request_.keep_alive());
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, size_t) {
                        if (!error && self->response_.keep_alive()) self->Read();
                      });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::empty_body> response_;
};

void Accept(asio::io_context& context, Tcp::acceptor& acceptor) {
  acceptor.async_accept(asio::make_strand(context),
                        [&](beast::error_code error, Tcp::socket socket) {
                          if (!error) std::make_shared<Connection>(std::move(socket))->Read();
                          Accept(context, acceptor);
                        });
}

int Run(int grpc_port, int http_port, bool echo) {
  EmptyPredict service(echo);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("0.0.0.0:", grpc_port), grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;

  asio::io_context context;
  Tcp::acceptor acceptor(context, Tcp::endpoint(Tcp::v4(), static_cast<uint16_t>(http_port)));
  Accept(context, acceptor);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] { context.run(); });
  }
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  context.stop();
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as ours has it
  int grpc_port = 0, http_port = 0;
  bool echo = false;
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    if (flag == "--echo") {
      echo = true;
      continue;
    }
    int* const port = absl::ConsumePrefix(&flag, "--port=")            ? &grpc_port
                      : absl::ConsumePrefix(&flag, "--rest_api_port=") ? &http_port
                                                                       : nullptr;
    if (port == nullptr || !absl::SimpleAtoi(flag, port)) {
      std::fprintf(stderr, "empty_server: cannot read %s\n", argv[i]);
      return 2;
    }
  }
  return tessera::Run(grpc_port, http_port, echo);
}
