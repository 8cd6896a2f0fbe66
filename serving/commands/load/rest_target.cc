#include "serving/commands/load/rest_target.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"

namespace tessera::serving {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using Endpoint = asio::ip::tcp::endpoint;
using Endpoints = asio::ip::tcp::resolver::results_type;

// Returns the code that a server of TensorFlow Serving's REST API stands for by an HTTP status.
absl::StatusCode CodeOf(unsigned http_status) {
  switch (http_status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return absl::StatusCode::kAborted;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 499:
      return absl::StatusCode::kCancelled;
    case 500:
      return absl::StatusCode::kInternal;
    case 501:
      return absl::StatusCode::kUnimplemented;
    case 503:
      return absl::StatusCode::kUnavailable;
    case 504:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return absl::StatusCode::kUnknown;
  }
}

// `body` is {"error": "..."} if the API answered, and anything if something before it did.
absl::Status ErrorOf(unsigned http_status, const std::string& body) {
  rapidjson::Document json;
  if (!json.Parse(body.data(), body.size()).HasParseError() && json.IsObject()) {
    const auto error = json.FindMember("error");
    if (error != json.MemberEnd() && error->value.IsString()) {
      return absl::Status(CodeOf(http_status), error->value.GetString());
    }
  }
  return absl::Status(CodeOf(http_status), absl::StrCat("HTTP ", http_status, ": ", body));
}

std::string HeaderLines(const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string lines;
  for (const auto& [name, value] : headers) absl::StrAppend(&lines, name, ": ", value, "\r\n");
  return lines;
}

// Returns the value of the header Host, in which an IPv6 address has brackets.
std::string HostOf(const RestAddress& address) {
  const bool is_ipv6 = absl::StrContains(address.host, ':');
  return absl::StrCat(is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]:" : ":", address.port);
}

struct Pending {
  const std::string* bytes;
  RequestTarget::OnReply on_reply;
};

// Where a connection leads, and how.
struct Peer {
  Endpoints endpoints;                      // addresses of the host, tried in turn
  std::string name;                         // that its certificate must have
  std::unique_ptr<asio::ssl::context> tls;  // null: no encryption
};

// One request at a time. Deletes nothing and knows of no others: `on_free` says that it can take
// the next request.
class Connection {
 public:
  // `peer` must outlive the connection.
  Connection(asio::io_context& io, const Peer& peer, absl::Duration timeout,
             std::function<void(Connection*)> on_free)
      : peer_(peer), timeout_(timeout), on_free_(std::move(on_free)), stream_(io) {}

  void Send(Pending pending) {
    pending_ = std::move(pending);
    stream_.expires_after(absl::ToChronoNanoseconds(timeout_));
    if (stream_.socket().is_open()) return Write();
    stream_.async_connect(peer_.endpoints, [this](Error error, const Endpoint&) {
      if (error) return Fail("cannot connect", error);
      stream_.socket().set_option(asio::ip::tcp::no_delay(true), error);
      peer_.tls == nullptr ? Write() : Encrypt();
    });
  }

 private:
  void Encrypt() {
    tls_.emplace(stream_, *peer_.tls);
    Error ignored;
    tls_->set_verify_callback(asio::ssl::host_name_verification(peer_.name), ignored);
    Error not_an_address;
    asio::ip::make_address(peer_.name, not_an_address);
    // Servers are named by their hosts' names alone (RFC 6066, section 3).
    if (not_an_address) SSL_set_tlsext_host_name(tls_->native_handle(), peer_.name.c_str());
    tls_->async_handshake(asio::ssl::stream_base::client, [this](Error error) {
      error ? Fail("cannot agree on encryption", error) : Write();
    });
  }

  void Write() {
    const auto written = [this](Error error, size_t) {
      error ? Fail("cannot send", error) : Read();
    };
    const auto bytes = asio::buffer(*pending_.bytes);
    tls_ ? asio::async_write(*tls_, bytes, written) : asio::async_write(stream_, bytes, written);
  }

  void Read() {
    parser_.emplace();
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    const auto read = [this](Error error, size_t) {
      if (error) return Fail("no answer", error);
      const auto& answer = parser_->get();
      if (!answer.keep_alive()) Close();
      if (answer.result_int() == 200) return Finish(absl::OkStatus(), answer.body());
      Finish(ErrorOf(answer.result_int(), answer.body()), {});
    };
    tls_ ? http::async_read(*tls_, buffer_, *parser_, read)
         : http::async_read(stream_, buffer_, *parser_, read);
  }

  void Fail(const char* what, Error error) {
    Close();
    const std::string text = absl::StrCat(what, ": ", error.message());
    Finish(error == beast::error::timeout ? absl::DeadlineExceededError(text)
                                          : absl::UnavailableError(text),
           {});
  }

  void Finish(const absl::Status& status, absl::string_view answer) {
    stream_.expires_never();
    std::exchange(pending_.on_reply, nullptr)(status, answer);
    on_free_(this);
  }

  void Close() {
    stream_.close();
    buffer_.clear();
  }

  const Peer& peer_;
  const absl::Duration timeout_;
  const std::function<void(Connection*)> on_free_;
  beast::tcp_stream stream_;
  std::optional<beast::ssl_stream<beast::tcp_stream&>> tls_;  // above stream_
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> parser_;
  Pending pending_;
};

class RestTarget : public RequestTarget {
 public:
  RestTarget(const RestAddress& address, const Options& options,
             const std::vector<std::string>& requests)
      : options_(options), work_(asio::make_work_guard(io_)) {
    for (const std::string& body : requests) {
      const std::string head = absl::StrCat(address.path, " HTTP/1.1\r\nHost: ", HostOf(address),
                                            "\r\n", HeaderLines(options.headers));
      requests_.push_back(body.empty()
                              ? absl::StrCat("GET ", head, "\r\n")
                              : absl::StrCat("POST ", head,
                                             "Content-Type: application/json\r\nContent-Length: ",
                                             body.size(), "\r\n\r\n", body));
    }
  }
  ~RestTarget() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start(const RestAddress& address) {
    Error error;
    asio::ip::tcp::resolver resolver(io_);
    peer_.endpoints = resolver.resolve(address.host, address.port, error);
    if (error || peer_.endpoints.empty()) {
      return absl::UnavailableError(
          absl::StrCat("no address of ", address.host, ":", address.port, ": ", error.message()));
    }
    if (options_.tls) {
      auto tls = SslContextOf(*options_.tls);
      if (!tls.ok()) return tls.status();
      peer_.tls = *std::move(tls);
      const std::string& name = options_.tls->server_name;
      peer_.name = name.empty() ? address.host : name;
    }
    thread_ = std::thread([this] { io_.run(); });
    return absl::OkStatus();
  }

  void Send(size_t request, OnReply on_reply) override {
    asio::post(io_, [this, pending = Pending{&requests_[request], std::move(on_reply)}]() mutable {
      queue_.push_back(std::move(pending));
      SendQueued();
    });
  }

 private:
  // What follows runs on thread_.
  void SendQueued() {
    if (queue_.empty()) return;
    if (idle_.empty()) {
      if (connections_.size() == static_cast<size_t>(options_.max_connections)) return;
      connections_.push_back(
          std::make_unique<Connection>(io_, peer_, options_.timeout, [this](Connection* free) {
            idle_.push_back(free);
            SendQueued();
          }));
      idle_.push_back(connections_.back().get());
    }
    Connection* const connection = idle_.back();
    idle_.pop_back();
    Pending next = std::move(queue_.front());
    queue_.pop_front();
    connection->Send(std::move(next));
  }

  const Options options_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Peer peer_;
  std::vector<std::string> requests_;
  std::deque<Pending> queue_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;  // the last one used is used first
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RequestTarget>> MakeRestTarget(
    const RestAddress& address, const RequestTarget::Options& options,
    const std::vector<std::string>& requests) {
  auto target = std::make_unique<RestTarget>(address, options, requests);
  if (absl::Status status = target->Start(address); !status.ok()) return status;
  return target;
}

}  // namespace tessera::serving
