// The HTTP server over TLS.
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/testing/http_client.h"
#include "serving/frontend/tls/testing/test_authority.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client of OpenSSL's own, which waits for each step, but never longer than ten seconds.
class TlsClient {
 public:
  explicit TlsClient(int port)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(SSL_new(context_.get()), SSL_free) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit = {.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    SSL_set_fd(ssl_.get(), socket_);
  }
  ~TlsClient() { close(socket_); }

  // What the client offers to speak; of one protocol its length and its name.
  void Offer(absl::string_view protocols) {
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned int>(protocols.size()));
  }
  // Returns false if the server refuses.
  bool Handshake() { return SSL_connect(ssl_.get()) == 1; }
  bool Send(absl::string_view bytes) {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }
  // Returns what comes up to `end`, or all until the server ends.
  std::string ReadUntil(absl::string_view end) {
    std::string text;
    char byte;
    while (!absl::EndsWith(text, end) && SSL_read(ssl_.get(), &byte, 1) == 1) text += byte;
    return text;
  }
  // Tells the server that nothing follows, and ends.
  void End() {
    SSL_shutdown(ssl_.get());
    shutdown(socket_, SHUT_WR);
  }
  // Reads all that comes. Returns whether the server told its end, so that nothing was cut off.
  bool ReadToEnd(std::string* text) {
    char bytes[4096];
    int size;
    while ((size = SSL_read(ssl_.get(), bytes, sizeof(bytes))) > 0) text->append(bytes, size);
    return SSL_get_error(ssl_.get(), size) == SSL_ERROR_ZERO_RETURN;
  }

 private:
  const std::shared_ptr<SSL_CTX> context_;
  const std::shared_ptr<SSL> ssl_;
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

// A server that answers with the target and the length of the body, at "/stream" by a stream, and
// at
// "/wait" when the client has gone.
class HttpTlsTest : public ::testing::Test {
 protected:
  HttpTlsTest() {
    const TestAuthority authority("authority");
    const TestAuthority::Signed server = authority.Sign("server");
    options_.certificates = *ServerCertificates::Open({.read = [server] {
      return PemCertificates{.certificates = server.certificate, .key = server.key};
    }});
    server_ = *HttpServer::Start(options_, [this](HttpRequest request, HttpResponder respond) {
      HttpReply reply{.body = absl::StrCat(request.target, " ", request.body.size())};
      if (request.target == "/large") reply.body = std::string(10 << 20, 'x');
      if (request.target == "/stream") {
        reply.stream = [this](std::shared_ptr<HttpStream> stream) {
          absl::MutexLock lock(&mu_);
          stream_ = std::move(stream);
        };
      }
      if (request.target != "/wait") return respond(std::move(reply));
      if (const auto client = request.client.lock()) {
        client->NotifyGone([this, respond = std::move(respond)] {
          respond({});
          gone_.Notify();
        });
      }
    });
  }
  std::shared_ptr<HttpStream> TakeStream() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](HttpTlsTest* test) { return test->stream_ != nullptr; }, this));
    return std::move(stream_);
  }

  HttpServer::Options options_;
  absl::Mutex mu_;
  std::shared_ptr<HttpStream> stream_;
  absl::Notification gone_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTlsTest, RequestsFollowEachOtherOnAConnection) {
  TlsClient client(server_->port());
  ASSERT_TRUE(client.Handshake());
  for (int i = 0; i < 3; ++i) {
    const std::string body(100'000 * i, 'b');
    const std::string expected = absl::StrCat("/", i, " ", body.size());
    ASSERT_TRUE(client.Send(absl::StrCat(
        "POST /", i, " HTTP/1.1\r\nHost: h\r\nContent-Length: ", body.size(), "\r\n\r\n", body)));
    EXPECT_THAT(client.ReadUntil(expected), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
}

TEST_F(HttpTlsTest, AClientThatEndsWhileItsRequestWaitsHasGone) {
  TlsClient client(server_->port());
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(client.Send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n"));
  client.End();
  EXPECT_TRUE(gone_.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST_F(HttpTlsTest, TheEndOfALargeReplyIsTold) {
  TlsClient client(server_->port());
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(client.Send("GET /large HTTP/1.0\r\n\r\n"));
  std::string text;
  EXPECT_TRUE(client.ReadToEnd(&text));
  EXPECT_GT(text.size(), 10u << 20);
}

TEST_F(HttpTlsTest, AStreamIsSentAsItIsWritten) {
  TlsClient client(server_->port());
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(client.Send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_THAT(client.ReadUntil("/stream 0"), StartsWith("HTTP/1.1 200 OK\r\n"));
  std::shared_ptr<HttpStream> stream = TakeStream();
  EXPECT_TRUE(stream->Write("one."));
  EXPECT_EQ(client.ReadUntil("."), "one.");
  EXPECT_TRUE(stream->Write("two."));
  stream = nullptr;
  std::string rest;
  EXPECT_TRUE(client.ReadToEnd(&rest));
  EXPECT_EQ(rest, "two.");
}

TEST_F(HttpTlsTest, ARequestInTheClearIsToldSo) {
  HttpTestClient client(server_->port());
  const auto reply = client.Ask("GET", "/");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 400);
  EXPECT_THAT(reply->body, HasSubstr("https://"));
  EXPECT_TRUE(client.WaitForEnd());
}

TEST_F(HttpTlsTest, BytesThatAreNoHandshakeEndTheConnection) {
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Send(std::string(100, '\0')));
  EXPECT_TRUE(client.WaitForEnd());
}

TEST_F(HttpTlsTest, AClientThatDoesNotBeginHoldsUpNoShutdown) {
  const HttpTestClient silent(server_->port());
  TlsClient client(server_->port());
  ASSERT_TRUE(client.Handshake());  // the silent one was accepted before it
  server_->Shutdown(absl::InfiniteFuture());
}

// Sends back what comes, up to `size` bytes, and ends the connection.
void Echo(int socket, size_t size) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  std::vector<char> bytes(64 << 10);
  for (size_t echoed = 0; echoed < size;) {
    const ssize_t got = read(socket, bytes.data(), bytes.size());
    if (got <= 0 || write(socket, bytes.data(), static_cast<size_t>(got)) != got) break;
    echoed += static_cast<size_t>(got);
  }
  close(socket);
}

TEST_F(HttpTlsTest, Http2IsHandedOverInTheClear) {
  const std::string sent(300'000, 'x');
  std::vector<std::thread> echoes;
  options_.take_http2 = [&](int socket) { echoes.emplace_back(Echo, socket, sent.size()); };
  server_ = *HttpServer::Start(
      options_, [](HttpRequest, HttpResponder respond) { respond({.body = "HTTP/1"}); });

  TlsClient client(server_->port());
  client.Offer("\x02h2");
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(client.Send(sent));
  std::string received;
  client.ReadToEnd(&received);
  EXPECT_EQ(received, sent);

  // Browsers offer both, and want pages.
  for (const absl::string_view offered : {"", "\x08http/1.1", "\x02h2\x08http/1.1"}) {
    TlsClient other(server_->port());
    if (!offered.empty()) other.Offer(offered);
    ASSERT_TRUE(other.Handshake());
    ASSERT_TRUE(other.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_THAT(other.ReadUntil("HTTP/1"), StartsWith("HTTP/1"));
  }

  TlsClient silent(server_->port());
  silent.Offer("\x02h2");
  ASSERT_TRUE(silent.Handshake());
  server_->Shutdown(absl::InfiniteFuture());  // what was handed over is the callee's to end
  server_.reset();
  for (std::thread& echo : echoes) echo.join();
}

TEST_F(HttpTlsTest, WithoutATakerHttp2IsNotSpoken) {
  TlsClient client(server_->port());
  client.Offer("\x02h2");
  EXPECT_FALSE(client.Handshake());
}

}  // namespace
}  // namespace tessera::serving
