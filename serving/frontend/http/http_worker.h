// HttpWorker: one thread of an HTTP server, and the connections that it serves. Only http_server.cc
// and http_connection.cc should include this header, which includes Boost.Asio.
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
// other thread. One timer checks all deadlines, a few times within the shortest of them, because a
// timer for each step of a request would cost system calls.
//
// Thread-safe, except that one thread alone may call Stop() and the destructor.
class HttpWorker {
 public:
  using Clock = std::chrono::steady_clock;
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

  // The arguments must outlive the worker.
  HttpWorker(const HttpServer::Options& options, const HttpHandler& handler);
  ~HttpWorker();

  boost::asio::io_context& context() { return context_; }
  // Starts the thread, which runs the callbacks.
  void Start();
  // Serves the client of a socket, which must belong to context(). Drops it after Close().
  void Serve(Socket socket);
  size_t num_connections() const;

  // Makes Serve() drop new clients from now on, and ends connections that have no request.
  void Close();
  // Waits until all connections have ended. Returns false if some are left at the deadline.
  bool WaitUntilNone(absl::Time deadline) const;
  // Ends all connections.
  void End();
  // Ends the thread. Callbacks that have not run yet are dropped.
  void Stop();

  // Called by a connection that ends.
  void Remove(HttpConnection* connection);

 private:
  void Run();
  std::vector<std::shared_ptr<HttpConnection>> Connections() const;
  // Checks deadlines from time to time while there are connections. Runs on the thread.
  void WatchDeadlines();

  const HttpServer::Options& options_;
  const HttpHandler& handler_;
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<HttpConnection*, std::weak_ptr<HttpConnection>> connections_
      ABSL_GUARDED_BY(mu_);
  // The members below are destroyed before the ones above, which their callbacks use.
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<Executor> work_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> watch_;
  bool watching_ = false;  // used by the thread alone
  std::thread thread_;
};

}  // namespace tessera::serving
