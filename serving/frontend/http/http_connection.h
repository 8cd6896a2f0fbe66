// HttpConnection: the requests and replies of one client. Only http_worker.cc should include this
// header, which includes Boost.Asio and Beast.
#pragma once

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "serving/frontend/http/http_message.h"
#include "serving/frontend/http/http_reply_head.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/http_socket.h"
#include "serving/frontend/http/http_worker.h"

namespace tessera::serving {

// A body whose memory grows with the bytes that arrive, not with the announced length.
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

// Lives while it reads, waits for the answer to a request, or writes. All of its callbacks run on
// the thread of its worker, and so must Start(), Watch(), and Close() unless that thread has
// ended. Any thread may call EndSoon(), End() and NotifyGone().
class HttpConnection : public HttpClient, public std::enable_shared_from_this<HttpConnection> {
 public:
  using Clock = HttpWorker::Clock;

  // Null for `tls`: plain. `options`, `handler` and `worker` must outlive the connection.
  HttpConnection(HttpWorker::Socket socket, const TlsContext& tls,
                 const HttpServer::Options& options, const HttpHandler& handler,
                 HttpWorker& worker);
  ~HttpConnection() override;

  void Start();
  // Ends the connection as soon as it has no request.
  void EndSoon();
  // Ends the connection now.
  void End();
  // Ends the connection if a deadline for its client has passed, and tells who asked by
  // NotifyGone() if the client has gone. To be called now and then.
  void Watch(Clock::time_point now);
  void Close();
  void NotifyGone(std::function<void()> gone) override;

 private:
  using Error = boost::system::error_code;
  class StreamLink;
  class Stream;

  // Agrees with the client on keys before it reads requests.
  void BeginEncryption();
  // Hands over a client that agreed on HTTP/2. The connection ends with that.
  void HandOver();
  // Waits for bytes by which HTTP/2's preface can be told from a request, beyond the `peeked` ones
  // that are part of the preface.
  void AwaitProtocol(size_t peeked);
  void OnFirstBytes(size_t peeked);
  void AwaitRequest();
  void ReadRequest();
  // Reads more of the request. Calls the member `on_bytes` when there are bytes in buffer_.
  void Read(void (HttpConnection::*on_bytes)());
  void ParseRequest();
  // Returns false if the client must be told first that it may send the body.
  bool OnHead();
  // Asks whether the body may be read. Returns false if the request was refused.
  bool Admit();
  // Answers what is left of a request by the page of a status, and ends the connection.
  void RefuseBy(int status);
  void HandleRequest();
  // Waits for the end of the client's side, to call gone_.
  void WatchClient();
  void Write(HttpReply reply);
  // Sends `buffers` and then calls `on_written(error, bytes)`, within the deadline of a transfer
  // that begins now.
  template <typename Buffers, typename Handler>
  void Send(const Buffers& buffers, Handler on_written);
  void OnWritten(Error error);
  // Hands the handler the stream that it asked for.
  void BeginStream();
  // Sends what was written to the stream meanwhile, or ends the body, unless a write is under way.
  void ContinueStream();
  // Answers a request that cannot be read, and ends the connection.
  void Refuse(Error error);
  // Ends the connection after reading what the client still sends. If data were left unread, the
  // system would drop the reply that is on its way to the client.
  void EndAfterReply();
  void EndSending();
  void Discard();
  // Returns the deadline for `bytes` of a transfer that began at `start`.
  Clock::time_point DeadlineFor(Clock::time_point start, uint64_t bytes) const;

  const HttpServer::Options& options_;
  const HttpHandler& handler_;
  HttpWorker& worker_;
  const HttpWorker::Executor executor_;  // that of socket_
  std::unique_ptr<HttpSocket> socket_;   // null once it was handed over
  std::string peer_;                     // the client's address
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<HttpBody>> parser_;  // while a request is read
  bool had_head_ = false;  // whether the head of the request was read
  HttpRequest request_;    // its head, if that must be admitted
  Clock::time_point transfer_start_;
  bool is_sending_ = false;
  uint64_t written_ = 0;  // of what is being sent
  // Deadline of the current step; max() while the client waits for the server.
  Clock::time_point deadline_ = Clock::time_point::max();
  HttpReplyContext context_;
  std::function<void()> gone_;  // null unless the client is watched
  std::string reply_head_, reply_body_;
  bool is_idle_ = false;  // true while it waits for a request
  bool ends_soon_ = false;
  // The stream of the reply, if that has one.
  std::function<void(std::shared_ptr<HttpStream>)> begin_stream_;
  std::shared_ptr<StreamLink> link_;
  std::string unsent_;
  bool is_writing_ = false;  // bytes of the stream
  bool body_ended_ = false;
};

}  // namespace tessera::serving
