// HttpWorker: one thread of an HTTP server, and the connections that it serves. For http_server.cc
// and http_connection.cc alone: it brings Boost.Asio with it.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/frontend/http/http_message.h"
#include "serving/frontend/http/http_server.h"

namespace tessera::serving {

class HttpConnection;

// A connection stays with one worker, so that its callbacks need no lock, and a request wakes no
// other thread. Deadlines are looked at a few times within the shortest of them, by one timer for
// all: setting and cancelling one for each step of a request would be system calls.
//
// Thread-safe, but Stop() and the destructor are for one thread.
class HttpWorker {
 public:
  using Clock = std::chrono::steady_clock;
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

  // Both must outlive the worker.
  HttpWorker(const HttpServer::Options& options, const HttpHandler& handler);
  ~HttpWorker();

  boost::asio::io_context& context() { return context_; }
  // From here on callbacks run.
  void Start();
  // Serves this client, whose socket is one of context(); drops it after Close().
  void Serve(Socket socket);
  size_t num_connections() const;

  // From now on Serve() drops what it is given, and connections without a request end.
  void Close();
  // False if some connections are left at the deadline.
  bool WaitUntilNone(absl::Time deadline) const;
  // Ends all connections.
  void End();
  // Ends the thread. What it was about to do is not done.
  void Stop();

  // A connection's last words.
  void Remove(HttpConnection* connection);

 private:
  void Run();
  std::vector<std::shared_ptr<HttpConnection>> Connections() const;
  // Looks at deadlines from time to time while there are connections. On the thread.
  void WatchDeadlines();

  const HttpServer::Options& options_;
  const HttpHandler& handler_;
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<HttpConnection*, std::weak_ptr<HttpConnection>> connections_
      ABSL_GUARDED_BY(mu_);
  // What follows ends before what its callbacks use.
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<Executor> work_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> watch_;
  bool watching_ = false;  // of the thread alone
  std::thread thread_;
};

}  // namespace tessera::serving
