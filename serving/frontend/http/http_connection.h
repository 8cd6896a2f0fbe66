// HttpConnection: requests and replies of one client. For http_worker.cc alone: it brings
// Boost.Asio and Beast with it.
#pragma once

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "serving/frontend/http/http_message.h"
#include "serving/frontend/http/http_reply_head.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/http_worker.h"

namespace tessera::serving {

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
// callbacks run on its worker's thread, as Start() and EndIfLate() must; EndSoon() and End() may be
// called by any.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Clock = HttpWorker::Clock;

  // All of these must outlive the connection.
  HttpConnection(HttpWorker::Socket socket, const HttpServer::Options& options,
                 const HttpHandler& handler, HttpWorker& worker);
  ~HttpConnection();

  void Start();
  // Ends the connection as soon as it has no request.
  void EndSoon();
  // Ends it now.
  void End();
  // Ends it if its client has kept it waiting beyond a deadline.
  void EndIfLate(Clock::time_point now);

 private:
  using Error = boost::system::error_code;

  void AwaitRequest();
  void ReadRequest();
  // Reads more of the request; `on_bytes` is a member to go on with when some are in buffer_.
  void Read(void (HttpConnection::*on_bytes)());
  void ParseRequest();
  // False if the client is to be told first that it may send the body.
  bool OnHead();
  void HandleRequest();
  void Write(HttpReply reply);
  void OnWritten(Error error);
  // Answers a request that cannot be read, and ends.
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
  HttpWorker& worker_;
  HttpWorker::Socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<HttpBody>> parser_;  // while a request is read
  bool had_head_ = false;                                               // of the request being read
  Clock::time_point transfer_start_;
  // Of what is under way; max() while the server itself is awaited.
  Clock::time_point deadline_ = Clock::time_point::max();
  HttpReplyContext context_;
  std::string reply_head_, reply_body_;
  bool is_idle_ = false;  // waits for a request
  bool ends_soon_ = false;
};

}  // namespace tessera::serving
