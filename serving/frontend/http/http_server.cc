#include "serving/frontend/http/http_server.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/system/system_error.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/http/http_worker.h"

namespace tessera::serving {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

// The pause before accept() is retried when the process has no file descriptors left.
constexpr std::chrono::milliseconds kAcceptPause{50};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const Options& options, HttpHandler handler)
      : options_(options),
        handler_(std::move(handler)),
        workers_(MakeWorkers()),
        acceptor_(workers_[0]->context()),
        accept_timer_(workers_[0]->context()) {}

  ~Impl() { Stop(); }

  absl::Status Listen() {
    if (options_.port < 0 || options_.port > std::numeric_limits<uint16_t>::max()) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on HTTP port ", options_.port, ": there is no such port"));
    }
    Error error;
    if (!options_.address.empty()) {
      const asio::ip::address address = asio::ip::make_address(options_.address, error);
      if (error) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", options_.address, "' is no IP address; 127.0.0.1 and ::1 are"));
      }
      error = Open(address);
    } else {
      // One socket serves IPv4 and IPv6 if the system has IPv6.
      error = Open(asio::ip::address_v6::any());
      if (error == asio::error::address_family_not_supported ||
          error == asio::error::operation_not_supported ||
          error == Error(EADDRNOTAVAIL, boost::system::system_category())) {
        error = Open(asio::ip::address_v4::any());
      }
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
    for (const auto& worker : workers_) worker->Start();
  }

  int port() const { return port_; }

  void Shutdown(absl::Time deadline) {
    asio::dispatch(workers_[0]->context(), [this] {
      Error ignored;
      accept_timer_.cancel();
      acceptor_.close(ignored);
    });
    for (const auto& worker : workers_) worker->Close();
    for (const auto& worker : workers_) {
      if (!worker->WaitUntilNone(deadline)) worker->End();
    }
  }

  void Stop() {
    Shutdown(absl::InfinitePast());
    for (const auto& worker : workers_) worker->Stop();
  }

 private:
  using Executor = HttpWorker::Executor;
  using Clock = HttpWorker::Clock;

  std::vector<std::unique_ptr<HttpWorker>> MakeWorkers() {
    std::vector<std::unique_ptr<HttpWorker>> workers;
    for (int i = 0; i < options_.num_threads; ++i) {
      workers.push_back(std::make_unique<HttpWorker>(options_, handler_));
    }
    return workers;
  }

  Error Open(const asio::ip::address& address) {
    const Tcp::endpoint endpoint(address, static_cast<uint16_t>(options_.port));
    Error error, ignored;
    acceptor_.close(ignored);
    acceptor_.open(endpoint.protocol(), error);
    if (error) return error;
    acceptor_.set_option(Tcp::acceptor::reuse_address(true), ignored);
    if (address.is_v6() && address.is_unspecified()) {
      acceptor_.set_option(asio::ip::v6_only(false), error);
      if (error) return error;
    }
    acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    // Non-blocking, because another process may accept the connection that woke this one.
    if (!error) acceptor_.non_blocking(true, error);
    return error;
  }

  // Returns the worker with the fewest connections.
  HttpWorker& NextWorker() {
    HttpWorker* next = workers_[0].get();
    size_t fewest = next->num_connections();
    for (const auto& worker : workers_) {
      if (const size_t count = worker->num_connections(); count < fewest) {
        next = worker.get();
        fewest = count;
      }
    }
    return *next;
  }

  void Accept() {
    acceptor_.async_wait(Tcp::acceptor::wait_read, [this](Error error) {
      if (!acceptor_.is_open() || error == asio::error::operation_aborted) return;
      HttpWorker& worker = NextWorker();
      HttpWorker::Socket socket = acceptor_.accept(worker.context(), error);
      if (!error) worker.Serve(std::move(socket));
      if (!error || error == asio::error::would_block) return Accept();
      // The client has gone, or there are no file descriptors until other connections close.
      accept_timer_.expires_after(kAcceptPause);
      accept_timer_.async_wait([this](Error stopped) {
        if (!stopped) Accept();
      });
    });
  }

  const Options options_;
  const HttpHandler handler_;
  const std::vector<std::unique_ptr<HttpWorker>> workers_;
  // The acceptor and the timer run on the first worker.
  asio::basic_socket_acceptor<Tcp, Executor> acceptor_;
  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor> accept_timer_;
  int port_ = 0;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              HttpHandler handler) {
  if (options.num_threads < 1) {
    return absl::InvalidArgumentError("an HTTP server needs at least one thread");
  }
  std::unique_ptr<Impl> impl;
  try {
    impl = std::make_unique<Impl>(options, std::move(handler));
  } catch (const boost::system::system_error& error) {
    // Asio throws where the process may open no more files for its event loops.
    return absl::UnavailableError(
        absl::StrCat("cannot serve HTTP port ", options.port, ": ", error.what()));
  }
  RETURN_IF_ERROR(impl->Listen());
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Shutdown(absl::Time deadline) { impl_->Shutdown(deadline); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace tessera::serving
