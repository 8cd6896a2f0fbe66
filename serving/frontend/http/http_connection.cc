#include "serving/frontend/http/http_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "serving/frontend/http/http_status.h"
#include "serving/frontend/http/http_tunnel.h"

namespace tessera::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

// The size limit of memory that is reserved for a body only because a client announced its length.
constexpr uint64_t kMaxReserved = 16 << 20;
constexpr size_t kReadBytes = 64 << 10;
// A body of up to this size is encrypted together with its head. A record of TLS holds 16 KiB.
constexpr size_t kMaxJoinedBytes = 8 << 10;
// How long data is read and discarded after the connection was refused or is to be closed.
constexpr std::chrono::seconds kDiscardTime{2};
// What a client that speaks HTTP/2 sends first (RFC 9113, section 3.4).
constexpr absl::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

std::chrono::nanoseconds ToChrono(absl::Duration duration) {
  return absl::ToChronoNanoseconds(duration);
}

absl::string_view ToView(beast::string_view text) { return {text.data(), text.size()}; }

// Returns the client's address, "10.0.0.7:41234" or "[::1]:41234"; an IPv4 address in its own form
// if it came by an IPv6 socket. "" if the client has gone.
std::string AddressOf(const HttpWorker::Socket& socket) {
  boost::system::error_code error;
  const asio::ip::tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "";
  const asio::ip::address& address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    const auto v4 = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    return absl::StrCat(v4.to_string(), ":", peer.port());
  }
  if (address.is_v6()) return absl::StrCat("[", address.to_string(), "]:", peer.port());
  return absl::StrCat(address.to_string(), ":", peer.port());
}

// Returns whether the client's side has ended, even if bytes that came before wait to be read.
bool HasEnded(HttpWorker::Socket& socket) {
  tcp_info info;
  socklen_t size = sizeof(info);
  return getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         (info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_CLOSE);
}

// Parses as much of `bytes` as is complete. Returns how much that was. Beast throws at a header
// field of more than 64 KiB, which for the client is a limit like others, and where there is no
// memory for a body.
template <typename Parser>
size_t Parse(asio::const_buffer bytes, Parser& parser, boost::system::error_code& error) {
  try {
    return parser.put(bytes, error);
  } catch (const std::length_error&) {
    error = http::error::header_limit;
  } catch (const std::bad_alloc&) {
    error = asio::error::no_memory;
  }
  return 0;
}

// Whether a TLS handshake failed because the client sent a request in the clear.
bool IsPlainHttp(const boost::system::error_code& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<uint32_t>(error.value())) == SSL_R_HTTP_REQUEST;
}

// Whether the end of a body can be told. An unknown transfer coding may hide it, and what follows
// would be read as another request (RFC 9112, section 6.1).
template <typename Message>
bool HasKnownCoding(const Message& message) {
  const auto fields = message.equal_range(http::field::transfer_encoding);
  return std::distance(fields.first, fields.second) < 2 &&
         std::all_of(fields.first, fields.second,
                     [](const auto& field) { return beast::iequals(field.value(), "chunked"); });
}

// Returns a request without its body. `message` is one of Beast's.
template <typename Message>
HttpRequest HeadOf(const Message& message) {
  HttpRequest request;
  request.method = std::string(ToView(message.method_string()));
  request.target = std::string(ToView(message.target()));
  for (const auto& field : message) {
    request.headers.emplace_back(ToView(field.name_string()), ToView(field.value()));
  }
  return request;
}

}  // namespace

void HttpBody::reader::init(const boost::optional<uint64_t>& length,
                            boost::system::error_code& error) {
  error = {};
  if (length) body_.reserve(std::min(*length, kMaxReserved));
}

// What a stream and its connection share, each of which may end first. Once Detach() has returned,
// nothing touches the connection or the thread that it belongs to.
class HttpConnection::StreamLink {
 public:
  explicit StreamLink(HttpConnection* connection) : connection_(connection) {}

  bool Write(absl::string_view bytes) {
    absl::MutexLock lock(&mu_);
    if (connection_ == nullptr) return false;
    if (unsent_bytes_ + bytes.size() > HttpStream::kMaxUnsentBytes) {
      Post([](HttpConnection& connection) { connection.Close(); });
      connection_ = nullptr;
      return false;
    }
    unsent_bytes_ += bytes.size();
    Post([text = std::string(bytes)](HttpConnection& connection) {
      connection.unsent_ += text;
      connection.ContinueStream();
    });
    return true;
  }
  void EndBody() {
    absl::MutexLock lock(&mu_);
    if (connection_ == nullptr) return;
    Post([](HttpConnection& connection) {
      connection.body_ended_ = true;
      connection.ContinueStream();
    });
  }
  void OnSent(size_t bytes) {
    absl::MutexLock lock(&mu_);
    unsent_bytes_ -= bytes;
  }
  void Detach() {
    absl::MutexLock lock(&mu_);
    connection_ = nullptr;
  }

 private:
  // Calls `act` with the connection, on its thread.
  template <typename Act>
  void Post(Act act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // Null if the connection is being destroyed and waits in Detach().
    if (auto connection = connection_->weak_from_this().lock()) {
      const auto executor = connection->executor_;
      asio::post(executor,
                 [connection = std::move(connection), act = std::move(act)] { act(*connection); });
    }
  }

  absl::Mutex mu_;
  HttpConnection* connection_ ABSL_GUARDED_BY(mu_);
  size_t unsent_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

// The handler's end of a stream.
class HttpConnection::Stream : public HttpStream {
 public:
  explicit Stream(std::shared_ptr<StreamLink> link) : link_(std::move(link)) {}
  ~Stream() override { link_->EndBody(); }
  bool Write(absl::string_view bytes) override { return link_->Write(bytes); }

 private:
  const std::shared_ptr<StreamLink> link_;
};

HttpConnection::HttpConnection(HttpWorker::Socket socket, const TlsContext& tls,
                               const HttpServer::Options& options, const HttpHandler& handler,
                               HttpWorker& worker)
    : options_(options),
      handler_(handler),
      worker_(worker),
      executor_(socket.get_executor()),
      socket_(std::make_unique<HttpSocket>(std::move(socket), tls)) {}

HttpConnection::~HttpConnection() {
  if (link_ != nullptr) link_->Detach();
  worker_.Remove(this);
}

void HttpConnection::Start() {
  Error ignored;
  socket_->tcp().set_option(asio::ip::tcp::no_delay(true), ignored);
  peer_ = AddressOf(socket_->tcp());
  if (socket_->is_encrypted()) return BeginEncryption();
  options_.take_http2 == nullptr ? AwaitRequest() : AwaitProtocol(0);
}

void HttpConnection::BeginEncryption() {
  if (options_.take_http2 != nullptr) socket_->OfferHttp2();
  is_idle_ = true;
  deadline_ = DeadlineFor(Clock::now(), 0);
  socket_->AsyncHandshake([self = shared_from_this()](Error error) {
    self->is_idle_ = false;
    if (!error && self->socket_->speaks_http2()) return self->HandOver();
    if (!error) return self->AwaitRequest();
    if (!IsPlainHttp(error) || self->ends_soon_) return self->Close();
    self->socket_->LeaveEncryption();
    self->context_.keep_alive = false;
    self->Write(
        {.status = 400,
         .content_type = "text/plain",
         .body =
             "This port speaks HTTPS: ask for https:// instead of http://, and give --ca=FILE to "
             "commands of tessera\n"});
  });
}

void HttpConnection::HandOver() {
  const int plain = ends_soon_ ? -1 : HttpTunnel::Begin(std::move(socket_));
  if (plain >= 0) options_.take_http2(plain);
}

void HttpConnection::AwaitProtocol(size_t peeked) {
  is_idle_ = true;
  if (peeked == 0) deadline_ = Clock::now() + ToChrono(options_.idle_timeout);
  // Otherwise the peeked bytes alone would wake this connection again and again.
  Error ignored;
  socket_->tcp().set_option(asio::socket_base::receive_low_watermark(static_cast<int>(peeked) + 1),
                            ignored);
  socket_->tcp().async_wait(asio::socket_base::wait_read,
                            [self = shared_from_this(), peeked](Error error) {
                              self->is_idle_ = false;
                              error ? self->Close() : self->OnFirstBytes(peeked);
                            });
}

void HttpConnection::OnFirstBytes(size_t peeked) {
  std::array<char, kHttp2Preface.size()> bytes;
  const ssize_t size =
      recv(socket_->tcp().native_handle(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return AwaitProtocol(peeked);
  const bool fits =
      size > 0 && absl::StartsWith(kHttp2Preface, absl::string_view(bytes.data(), size));
  // No more bytes than before: the client has ended.
  const bool grows = static_cast<size_t>(std::max<ssize_t>(size, 0)) > peeked;
  if (fits && grows && static_cast<size_t>(size) < kHttp2Preface.size()) {
    if (peeked == 0) deadline_ = DeadlineFor(Clock::now(), 0);
    return AwaitProtocol(size);
  }
  Error ignored;
  socket_->tcp().set_option(asio::socket_base::receive_low_watermark(1), ignored);
  if (!fits || !grows) return AwaitRequest();
  const int socket = socket_->tcp().release(ignored);
  if (fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK) == 0) {
    options_.take_http2(socket);
  } else {
    close(socket);
  }
}

void HttpConnection::EndSoon() {
  asio::dispatch(executor_, [self = shared_from_this()] {
    self->ends_soon_ = true;
    if (self->is_idle_ || self->link_ != nullptr) self->Close();
  });
}

void HttpConnection::End() {
  asio::dispatch(executor_, [self = shared_from_this()] {
    self->ends_soon_ = true;
    self->Close();
  });
}

void HttpConnection::Watch(Clock::time_point now) {
  if (is_sending_ && socket_ != nullptr) {
    const uint64_t taken = written_ - std::min(written_, socket_->num_unacknowledged());
    deadline_ = DeadlineFor(transfer_start_, taken);
  }
  if (now > deadline_) return Close();
  if (gone_ != nullptr && HasEnded(socket_->tcp())) std::exchange(gone_, nullptr)();
}

void HttpConnection::Close() {
  if (socket_ == nullptr) return;
  if (link_ != nullptr) link_->Detach();
  Error ignored;
  socket_->tcp().close(ignored);
}

HttpConnection::Clock::time_point HttpConnection::DeadlineFor(Clock::time_point start,
                                                              uint64_t bytes) const {
  return start + ToChrono(options_.transfer_timeout) +
         std::chrono::seconds(bytes / static_cast<uint64_t>(options_.min_bytes_per_second));
}

void HttpConnection::Read(void (HttpConnection::*on_bytes)()) {
  socket_->AsyncReadSome(buffer_.prepare(kReadBytes),
                         [self = shared_from_this(), on_bytes](Error error, size_t bytes) {
                           self->is_idle_ = false;
                           if (error) return self->Close();
                           self->buffer_.commit(bytes);
                           ((*self).*on_bytes)();
                         });
}

void HttpConnection::AwaitRequest() {
  if (ends_soon_) return EndAfterReply();
  // Some old clients send empty lines between requests.
  const auto* text = static_cast<const char*>(buffer_.data().data());
  size_t n = 0;
  while (n < buffer_.size() && (text[n] == '\r' || text[n] == '\n')) ++n;
  buffer_.consume(n);
  if (buffer_.size() > 0) return ReadRequest();
  is_idle_ = true;
  deadline_ = Clock::now() + ToChrono(options_.idle_timeout);
  Read(&HttpConnection::AwaitRequest);
}

void HttpConnection::ReadRequest() {
  parser_.emplace();
  parser_->header_limit(options_.max_head_bytes);
  // Admit() compares the length that is announced, so that it can tell whose request it was.
  parser_->body_limit(options_.admit != nullptr ? std::numeric_limits<uint64_t>::max()
                                                : options_.max_body_bytes);
  had_head_ = false;
  context_ = {};
  transfer_start_ = Clock::now();
  ParseRequest();
}

// Parses what is in the buffer at once; an asynchronous read would poll for events first.
void HttpConnection::ParseRequest() {
  while (true) {
    Error error;
    const size_t parsed = Parse(buffer_.data(), *parser_, error);
    buffer_.consume(parsed);
    if (error && error != http::error::need_more) return Refuse(error);
    if (!had_head_ && parser_->is_header_done()) {
      had_head_ = true;
      if (!OnHead()) return;
    }
    if (parser_->is_done()) return HandleRequest();
    if (parsed == 0 || buffer_.size() == 0) break;
  }
  // The limits of head and body do not count extensions of chunks, and trailers.
  if (had_head_ && buffer_.size() > options_.max_head_bytes) {
    return Refuse(http::error::header_limit);
  }
  deadline_ = DeadlineFor(transfer_start_, had_head_ ? parser_->get().body().size() : 0);
  Read(&HttpConnection::ParseRequest);
}

bool HttpConnection::OnHead() {
  const auto& head = parser_->get();
  context_ = {.is_http_1_1 = head.version() >= 11,
              .is_head = head.method() == http::verb::head,
              .keep_alive = head.keep_alive()};
  if (!HasKnownCoding(head)) {
    RefuseBy(501);
    return false;
  }
  // HTTP/1.0 has no chunks, so that others may see the end of the request elsewhere (RFC 9112,
  // section 6.1).
  if (!context_.is_http_1_1 && head.count(http::field::transfer_encoding) > 0) {
    Refuse(http::error::bad_transfer_encoding);
    return false;
  }
  if (options_.admit != nullptr && !Admit()) return false;
  const bool waits = context_.is_http_1_1 && !parser_->is_done() && buffer_.size() == 0 &&
                     beast::iequals(head[http::field::expect], "100-continue");
  if (!waits) return true;
  deadline_ = DeadlineFor(transfer_start_, 0);
  socket_->AsyncWrite(asio::buffer(kContinue, sizeof(kContinue) - 1),
                      [self = shared_from_this()](Error error, size_t) {
                        error ? self->Close() : self->Read(&HttpConnection::ParseRequest);
                      });
  return false;
}

bool HttpConnection::Admit() {
  uint64_t max_body_bytes = options_.max_body_bytes;
  request_ = HeadOf(parser_->get());
  request_.peer = peer_;
  if (std::optional<HttpReply> refusal = options_.admit(request_, &max_body_bytes)) {
    refusal->close = true;
    Write(*std::move(refusal));
    return false;
  }
  if (parser_->content_length().value_or(0) > max_body_bytes) {
    Refuse(http::error::body_limit);
    return false;
  }
  parser_->body_limit(max_body_bytes);
  return true;
}

void HttpConnection::Refuse(Error error) {
  context_.keep_alive = false;
  if (error == http::error::body_limit) {
    const bool was_admitted = had_head_ && options_.admit != nullptr;
    return Write(was_admitted && options_.body_too_large != nullptr
                     ? options_.body_too_large(request_)
                     : HttpStatusPage(413));
  }
  if (error == asio::error::no_memory) {
    return RefuseBy(HttpStatusOf(absl::StatusCode::kResourceExhausted));
  }
  RefuseBy(error == http::error::header_limit ? 431 : 400);
}

void HttpConnection::RefuseBy(int status) {
  context_.keep_alive = false;
  HttpReply reply = HttpStatusPage(status);
  const auto& head = parser_->get();
  const bool is_request = !head.target().empty();
  if (options_.on_refused != nullptr && (is_request || status == 431)) {
    HttpRequest request = HeadOf(head);
    request.peer = peer_;
    options_.on_refused(request, reply);
  }
  Write(std::move(reply));
}

void HttpConnection::NotifyGone(std::function<void()> gone) {
  asio::post(executor_, [self = shared_from_this(), gone = std::move(gone)]() mutable {
    if (self->deadline_ != Clock::time_point::max()) return;  // the reply is on its way
    self->gone_ = std::move(gone);
    self->WatchClient();
  });
}

void HttpConnection::WatchClient() {
  if (buffer_.size() > 0) return;
  socket_->tcp().async_wait(asio::socket_base::wait_read, [self = shared_from_this()](Error error) {
    if (self->gone_ == nullptr || error == asio::error::operation_aborted) return;
    char byte;
    const ssize_t size =
        recv(self->socket_->tcp().native_handle(), &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
    if (size > 0) return;  // the next request, or the end of TLS: Watch() sees what follows
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return self->WatchClient();
    std::exchange(self->gone_, nullptr)();
  });
}

void HttpConnection::HandleRequest() {
  deadline_ = Clock::time_point::max();
  auto message = parser_->release();
  parser_.reset();
  HttpRequest request = options_.admit != nullptr ? std::move(request_) : HeadOf(message);
  request.body = std::move(message.body());
  request.peer = peer_;
  request.client = weak_from_this();
  handler_(std::move(request), [self = shared_from_this()](HttpReply reply) {
    asio::dispatch(self->executor_,
                   [self, reply = std::move(reply)]() mutable { self->Write(std::move(reply)); });
  });
}

void HttpConnection::Write(HttpReply reply) {
  gone_ = nullptr;
  context_.keep_alive = context_.keep_alive && !reply.close && !ends_soon_ && !reply.stream;
  reply_head_ = HttpReplyHead(reply, context_, absl::Now());
  reply_body_ = context_.is_head ? std::string() : std::move(reply.body);
  if (!context_.is_head) begin_stream_ = std::move(reply.stream);
  if (socket_->is_encrypted() && reply_body_.size() <= kMaxJoinedBytes) {
    reply_head_ += std::exchange(reply_body_, {});
  }
  Send(std::array<asio::const_buffer, 2>{asio::buffer(reply_head_), asio::buffer(reply_body_)},
       [this](Error error, size_t) { OnWritten(error); });
}

template <typename Buffers, typename Handler>
void HttpConnection::Send(const Buffers& buffers, Handler on_written) {
  transfer_start_ = Clock::now();
  deadline_ = DeadlineFor(transfer_start_, 0);
  is_sending_ = true;
  socket_->AsyncWrite(buffers, &written_,
                      [self = shared_from_this(), on_written](Error error, size_t bytes) {
                        self->is_sending_ = false;
                        on_written(error, bytes);
                      });
}

void HttpConnection::OnWritten(Error error) {
  reply_body_ = std::string();
  if (error) return Close();
  if (begin_stream_ != nullptr && !ends_soon_) return BeginStream();
  context_.keep_alive ? AwaitRequest() : EndAfterReply();
}

void HttpConnection::BeginStream() {
  deadline_ = Clock::time_point::max();
  link_ = std::make_shared<StreamLink>(this);
  Discard();  // to see that the client goes
  std::exchange(begin_stream_, nullptr)(std::make_shared<Stream>(link_));
}

void HttpConnection::ContinueStream() {
  if (is_writing_ || !socket_->tcp().is_open()) return;
  if (unsent_.empty()) {
    if (body_ended_) EndSending();
    return;
  }
  is_writing_ = true;
  reply_body_ = std::exchange(unsent_, {});
  Send(asio::buffer(reply_body_), [this](Error error, size_t bytes) {
    if (error) return Close();
    deadline_ = Clock::time_point::max();
    is_writing_ = false;
    link_->OnSent(bytes);
    ContinueStream();
  });
}

void HttpConnection::EndAfterReply() {
  if (socket_->is_encrypted()) return EndSending();
  Error ignored;
  const bool read_all = !parser_ && buffer_.size() == 0 && socket_->tcp().available(ignored) == 0;
  if (read_all) return Close();
  EndSending();
  Discard();
}

void HttpConnection::EndSending() {
  deadline_ = Clock::now() + kDiscardTime;
  if (!socket_->is_encrypted()) {
    Error ignored;
    socket_->tcp().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    return;
  }
  socket_->AsyncEndEncryption([self = shared_from_this()](Error error) {
    if (self->link_ != nullptr) return;  // Discard() is running, and sees the client's end
    if (!error) return self->Close();
    // The client has not ended, but sends more.
    self->socket_->LeaveEncryption();
    self->Discard();
  });
}

void HttpConnection::Discard() {
  buffer_.clear();
  Read(&HttpConnection::Discard);
}

}  // namespace tessera::serving
