#include "serving/frontend/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "absl/time/clock.h"

namespace tessera::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

// A length that a client announces is believed up to here.
constexpr uint64_t kMaxReserved = 16 << 20;
constexpr size_t kReadBytes = 64 << 10;
// How long, and how much, is read from a client that was told that it is over.
constexpr std::chrono::seconds kDiscardTime{2};
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

std::chrono::nanoseconds ToChrono(absl::Duration duration) {
  return absl::ToChronoNanoseconds(duration);
}

absl::string_view ToView(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool HttpConnections::Add(const std::shared_ptr<HttpConnection>& connection) {
  absl::MutexLock lock(&mu_);
  if (closed_) return false;
  connections_.emplace(connection.get(), connection);
  return true;
}

void HttpConnections::Remove(HttpConnection* connection) {
  absl::MutexLock lock(&mu_);
  connections_.erase(connection);
}

void HttpConnections::Close() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
}

std::vector<std::shared_ptr<HttpConnection>> HttpConnections::All() const {
  std::vector<std::shared_ptr<HttpConnection>> all;
  absl::MutexLock lock(&mu_);
  all.reserve(connections_.size());
  for (const auto& [unused, connection] : connections_) {
    // Null for one whose destructor waits to be removed.
    if (auto alive = connection.lock()) all.push_back(std::move(alive));
  }
  return all;
}

bool HttpConnections::WaitUntilNone(absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return connections_.empty(); };
  return mu_.AwaitWithDeadline(absl::Condition(&none), deadline);
}

void HttpBody::reader::init(const boost::optional<uint64_t>& length,
                            boost::system::error_code& error) {
  error = {};
  if (length) body_.reserve(std::min(*length, kMaxReserved));
}

HttpConnection::HttpConnection(Stream::socket_type socket, const HttpServer::Options& options,
                               const HttpHandler& handler, HttpConnections& connections)
    : options_(options), handler_(handler), connections_(connections), stream_(std::move(socket)) {}

HttpConnection::~HttpConnection() { connections_.Remove(this); }

void HttpConnection::Start() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    Error ignored;
    self->stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    self->AwaitRequest();
  });
}

void HttpConnection::EndSoon() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    self->ends_soon_ = true;
    if (self->is_idle_) self->Close();
  });
}

void HttpConnection::End() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
    self->ends_soon_ = true;
    self->Close();
  });
}

void HttpConnection::Close() { stream_.close(); }

HttpConnection::Clock::time_point HttpConnection::DeadlineFor(Clock::time_point start,
                                                              uint64_t bytes) const {
  return start + ToChrono(options_.transfer_timeout) +
         std::chrono::seconds(bytes / static_cast<uint64_t>(options_.min_bytes_per_second));
}

void HttpConnection::AwaitRequest() {
  if (ends_soon_) return EndAfterReply();
  // Empty lines between requests are what some old clients send.
  const auto skip_empty_lines = [this] {
    const auto* text = static_cast<const char*>(buffer_.data().data());
    size_t n = 0;
    while (n < buffer_.size() && (text[n] == '\r' || text[n] == '\n')) ++n;
    buffer_.consume(n);
  };
  skip_empty_lines();
  if (buffer_.size() > 0) return ReadHead();
  is_idle_ = true;
  stream_.expires_after(ToChrono(options_.idle_timeout));
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this(), skip_empty_lines](Error error, size_t bytes) {
                            self->is_idle_ = false;
                            if (error) return self->Close();
                            self->buffer_.commit(bytes);
                            skip_empty_lines();
                            self->buffer_.size() > 0 ? self->ReadHead() : self->AwaitRequest();
                          });
}

void HttpConnection::ReadHead() {
  parser_.emplace();
  parser_->header_limit(options_.max_head_bytes);
  parser_->body_limit(options_.max_body_bytes);
  context_ = {};
  transfer_start_ = Clock::now();
  stream_.expires_at(DeadlineFor(transfer_start_, 0));
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](Error error, size_t) { self->OnHead(error); });
}

void HttpConnection::OnHead(Error error) {
  if (error) return Refuse(error);
  const auto& head = parser_->get();
  context_ = {.is_http_1_1 = head.version() >= 11,
              .is_head = head.method() == http::verb::head,
              .keep_alive = head.keep_alive()};
  const bool waits = context_.is_http_1_1 && !parser_->is_done() && buffer_.size() == 0 &&
                     beast::iequals(head[http::field::expect], "100-continue");
  if (!waits) return ReadBody();
  asio::async_write(stream_, asio::buffer(kContinue, sizeof(kContinue) - 1),
                    [self = shared_from_this()](Error error, size_t) {
                      error ? self->Close() : self->ReadBody();
                    });
}

void HttpConnection::ReadBody() {
  if (parser_->is_done()) return HandleRequest();
  stream_.expires_at(DeadlineFor(transfer_start_, parser_->get().body().size()));
  http::async_read_some(stream_, buffer_, *parser_,
                        [self = shared_from_this()](Error error, size_t) {
                          error ? self->Refuse(error) : self->ReadBody();
                        });
}

void HttpConnection::Refuse(Error error) {
  // Errors of the connection itself, its end, and waiting in vain have nobody to be told to.
  if (error.category() != http::make_error_code(http::error::end_of_stream).category() ||
      error == http::error::end_of_stream || error == http::error::partial_message) {
    return Close();
  }
  context_.keep_alive = false;
  if (error == http::error::body_limit) return Write(HttpStatusPage(413));
  if (error == http::error::header_limit) return Write(HttpStatusPage(431));
  Write(HttpStatusPage(400));
}

void HttpConnection::HandleRequest() {
  stream_.expires_never();
  auto message = parser_->release();
  parser_.reset();
  HttpRequest request;
  request.method = std::string(ToView(message.method_string()));
  request.target = std::string(ToView(message.target()));
  for (const auto& field : message) {
    request.headers.emplace_back(ToView(field.name_string()), ToView(field.value()));
  }
  request.body = std::move(message.body());
  handler_(std::move(request), [self = shared_from_this()](HttpReply reply) {
    asio::dispatch(self->stream_.get_executor(),
                   [self, reply = std::move(reply)]() mutable { self->Write(std::move(reply)); });
  });
}

void HttpConnection::Write(HttpReply reply) {
  context_.keep_alive = context_.keep_alive && !reply.close && !ends_soon_;
  reply_head_ = HttpReplyHead(reply, context_, absl::Now());
  reply_body_ = context_.is_head ? std::string() : std::move(reply.body);
  stream_.expires_at(DeadlineFor(Clock::now(), reply_body_.size()));
  asio::async_write(
      stream_,
      std::array<asio::const_buffer, 2>{asio::buffer(reply_head_), asio::buffer(reply_body_)},
      [self = shared_from_this()](Error error, size_t) { self->OnWritten(error); });
}

void HttpConnection::OnWritten(Error error) {
  reply_body_ = std::string();
  if (error) return Close();
  context_.keep_alive ? AwaitRequest() : EndAfterReply();
}

void HttpConnection::EndAfterReply() {
  Error ignored;
  const bool read_all = !parser_ && buffer_.size() == 0 && stream_.socket().available(ignored) == 0;
  if (read_all) return Close();
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  stream_.expires_after(kDiscardTime);
  Discard();
}

void HttpConnection::Discard() {
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](Error error, size_t) {
                            error ? self->Close() : self->Discard();
                          });
}

}  // namespace tessera::serving
