#include "serving/frontend/http_server.h"

#include <pthread.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "serving/frontend/http_connection.h"

namespace tessera::serving {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

// Before accept() is tried again when the process has no descriptors left.
constexpr std::chrono::milliseconds kAcceptPause{50};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const Options& options, HttpHandler handler)
      : options_(options),
        handler_(std::move(handler)),
        context_(options.num_threads),
        work_(context_.get_executor()),
        strand_(asio::make_strand(context_)),
        acceptor_(strand_),
        accept_timer_(strand_) {}

  ~Impl() { Stop(); }

  absl::Status Listen() {
    // Both families on one socket, where the system has IPv6.
    Error error = Open(Tcp::v6());
    if (error == asio::error::address_family_not_supported ||
        error == asio::error::operation_not_supported ||
        error == Error(EADDRNOTAVAIL, boost::system::system_category())) {
      error = Open(Tcp::v4());
    }
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on HTTP port ", options_.port, ": ", error.message()));
    }
    port_ = acceptor_.local_endpoint(error).port();
    return absl::OkStatus();
  }

  void Run() {
    Accept();
    for (int i = 0; i < options_.num_threads; ++i) {
      threads_.emplace_back([this] { RunThread(); });
    }
  }

  int port() const { return port_; }

  void Shutdown(absl::Time deadline) {
    connections_.Close();
    asio::dispatch(strand_, [this] {
      Error ignored;
      accept_timer_.cancel();
      acceptor_.close(ignored);
    });
    for (const auto& connection : connections_.All()) connection->EndSoon();
    if (connections_.WaitUntilNone(deadline)) return;
    for (const auto& connection : connections_.All()) connection->End();
  }

  void Stop() {
    Shutdown(absl::InfinitePast());
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Error Open(const Tcp& protocol) {
    Error error, ignored;
    acceptor_.close(ignored);
    acceptor_.open(protocol, error);
    if (error) return error;
    acceptor_.set_option(Tcp::acceptor::reuse_address(true), ignored);
    if (protocol == Tcp::v6()) {
      acceptor_.set_option(asio::ip::v6_only(false), error);
      if (error) return error;
    }
    acceptor_.bind(Tcp::endpoint(protocol, static_cast<uint16_t>(options_.port)), error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error;
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(context_),
                           [this](Error error, HttpConnection::Stream::socket_type socket) {
                             if (!acceptor_.is_open()) return;
                             if (!error) {
                               auto connection = std::make_shared<HttpConnection>(
                                   std::move(socket), options_, handler_, connections_);
                               if (connections_.Add(connection)) connection->Start();
                               return Accept();
                             }
                             if (error == asio::error::operation_aborted) return;
                             // One that went before it was accepted, or no descriptors, which
                             // others will give back.
                             accept_timer_.expires_after(kAcceptPause);
                             accept_timer_.async_wait([this](Error stopped) {
                               if (!stopped) Accept();
                             });
                           });
  }

  void RunThread() {
    pthread_setname_np(pthread_self(), "http");
    while (true) {
      try {
        context_.run();
        return;
      } catch (const std::exception& e) {
        // Memory was out in one connection's callback, which ends that connection.
        LOG(ERROR) << "an HTTP connection ended by an exception: " << e.what();
      }
    }
  }

  const Options options_;
  const HttpHandler handler_;
  HttpConnections connections_;  // outlives what the context's callbacks hold
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  HttpConnection::Strand strand_;  // the acceptor's
  asio::basic_socket_acceptor<Tcp, HttpConnection::Strand> acceptor_;
  asio::basic_waitable_timer<std::chrono::steady_clock,
                             asio::wait_traits<std::chrono::steady_clock>, HttpConnection::Strand>
      accept_timer_;
  int port_ = 0;
  std::vector<std::thread> threads_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              HttpHandler handler) {
  if (options.num_threads < 1) {
    return absl::InvalidArgumentError("an HTTP server needs at least one thread");
  }
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  RETURN_IF_ERROR(impl->Listen());
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Shutdown(absl::Time deadline) { impl_->Shutdown(deadline); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace tessera::serving
