// HttpConnection: requests and replies of one client. For http_server.cc alone: it brings
// Boost.Asio and Beast with it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "serving/frontend/http_message.h"
#include "serving/frontend/http_reply_head.h"
#include "serving/frontend/http_server.h"

namespace tessera::serving {

class HttpConnection;

// The connections there are. Thread-safe.
class HttpConnections {
 public:
  // False if no more are wanted: the connection is to be dropped.
  bool Add(const std::shared_ptr<HttpConnection>& connection);
  void Remove(HttpConnection* connection);
  // From now on Add() refuses.
  void Close();
  std::vector<std::shared_ptr<HttpConnection>> All() const;
  // False if some are left at the deadline.
  bool WaitUntilNone(absl::Time deadline) const;

 private:
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<HttpConnection*, std::weak_ptr<HttpConnection>> connections_
      ABSL_GUARDED_BY(mu_);
};

// A body that grows with the bytes that come, not with the length that is announced.
struct HttpBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(boost::beast::http::header<is_request, Fields>&, std::string& body) : body_(body) {}
    void init(const boost::optional<uint64_t>& length, boost::system::error_code& error);
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      const size_t before = body_.size();
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return body_.size() - before;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    std::string& body_;
  };
};

// Lives as long as something is under way: reading, the request's answer, writing. All of its
// callbacks run on its strand; EndSoon() and End() may be called by any thread.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
  using Stream = boost::beast::basic_stream<boost::asio::ip::tcp, Strand>;

  // All of these must outlive the connection.
  HttpConnection(Stream::socket_type socket, const HttpServer::Options& options,
                 const HttpHandler& handler, HttpConnections& connections);
  ~HttpConnection();

  void Start();
  // Ends the connection as soon as it has no request.
  void EndSoon();
  // Ends it now.
  void End();

 private:
  using Error = boost::system::error_code;
  using Clock = std::chrono::steady_clock;

  void AwaitRequest();
  void ReadHead();
  void OnHead(Error error);
  void ReadBody();
  void HandleRequest();
  void Write(HttpReply reply);
  void OnWritten(Error error);
  // Answers a request that could not be read, if its client may be listening, and ends.
  void Refuse(Error error);
  // Ends the connection, but goes on reading from a client that has more to say: unread data would
  // make the system drop what is on its way to the client.
  void EndAfterReply();
  void Discard();
  void Close();
  // When `bytes` of a transfer that began at `start` must be through.
  Clock::time_point DeadlineFor(Clock::time_point start, uint64_t bytes) const;

  const HttpServer::Options& options_;
  const HttpHandler& handler_;
  HttpConnections& connections_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<HttpBody>> parser_;  // while a request is read
  Clock::time_point transfer_start_;
  HttpReplyContext context_;
  std::string reply_head_, reply_body_;
  bool is_idle_ = false;  // waits for a request
  bool ends_soon_ = false;
};

}  // namespace tessera::serving
