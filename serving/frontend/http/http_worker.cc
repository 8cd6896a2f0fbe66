#include "serving/frontend/http/http_worker.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <exception>
#include <utility>

#include "runtime/base/logging.h"
#include "serving/frontend/http/http_connection.h"

namespace tessera::serving {
namespace {

using Error = boost::system::error_code;

// Returns the interval of checks for deadlines: a quarter of the shortest timeout, at most a
// second.
std::chrono::nanoseconds WatchInterval(const HttpServer::Options& options) {
  const absl::Duration interval =
      std::min(absl::Seconds(1), std::min(options.idle_timeout, options.transfer_timeout) / 4);
  return absl::ToChronoNanoseconds(std::max(interval, absl::Milliseconds(1)));
}

}  // namespace

HttpWorker::HttpWorker(const HttpServer::Options& options, const HttpHandler& handler)
    : options_(options), handler_(handler), work_(context_.get_executor()), watch_(context_) {}

HttpWorker::~HttpWorker() { Stop(); }

void HttpWorker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void HttpWorker::Run() {
  pthread_setname_np(pthread_self(), "http");
  while (true) {
    try {
      context_.run();
      return;
    } catch (const std::exception& e) {
      // A callback of one connection ran out of memory, which ends that connection.
      LOG(ERROR) << "an HTTP connection ended by an exception: " << e.what();
    }
  }
}

void HttpWorker::Serve(Socket socket) {
  const TlsContext tls =
      options_.certificates == nullptr ? nullptr : options_.certificates->Get()->context;
  auto connection =
      std::make_shared<HttpConnection>(std::move(socket), tls, options_, handler_, *this);
  {
    absl::MutexLock lock(&mu_);
    if (!closed_) connections_.emplace(connection.get(), connection);
    if (closed_) return;
  }
  boost::asio::dispatch(context_, [this, connection] {
    connection->Start();
    if (!watching_) WatchDeadlines();
  });
}

size_t HttpWorker::num_connections() const {
  absl::MutexLock lock(&mu_);
  return connections_.size();
}

void HttpWorker::WatchDeadlines() {
  const auto connections = Connections();
  watching_ = !connections.empty();
  if (!watching_) return;
  const Clock::time_point now = Clock::now();
  for (const auto& connection : connections) connection->Watch(now);
  watch_.expires_after(WatchInterval(options_));
  watch_.async_wait([this](Error stopped) {
    if (!stopped) WatchDeadlines();
  });
}

std::vector<std::shared_ptr<HttpConnection>> HttpWorker::Connections() const {
  std::vector<std::shared_ptr<HttpConnection>> all;
  absl::MutexLock lock(&mu_);
  all.reserve(connections_.size());
  for (const auto& [unused, connection] : connections_) {
    // Null if the connection is being destroyed and waits here to be removed.
    if (auto alive = connection.lock()) all.push_back(std::move(alive));
  }
  return all;
}

void HttpWorker::Close() {
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
  }
  for (const auto& connection : Connections()) connection->EndSoon();
}

bool HttpWorker::WaitUntilNone(absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return connections_.empty(); };
  return mu_.AwaitWithDeadline(absl::Condition(&none), deadline);
}

void HttpWorker::End() {
  for (const auto& connection : Connections()) connection->End();
}

void HttpWorker::Stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
  // Streams may be written to after this, without effect.
  for (const auto& connection : Connections()) connection->Close();
}

void HttpWorker::Remove(HttpConnection* connection) {
  absl::MutexLock lock(&mu_);
  connections_.erase(connection);
}

}  // namespace tessera::serving
