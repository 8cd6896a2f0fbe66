// Which protocol a client of the HTTP server speaks.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/testing/http_client.h"

namespace tessera::serving {
namespace {

// A server that hands over clients of HTTP/2, and answers all others with their path.
class HttpProtocolTest : public ::testing::Test {
 protected:
  static constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  HttpProtocolTest() {
    HttpServer::Options options;
    options.take_http2 = [this](int socket) {
      absl::MutexLock lock(&mu_);
      taken_.push_back(socket);
    };
    server_ = *HttpServer::Start(options, [](HttpRequest request, HttpResponder respond) {
      respond({.body = request.target});
    });
  }
  ~HttpProtocolTest() override {
    for (const int socket : taken_) close(socket);
  }
  // Waits for a client that was handed over, and returns what it sent first.
  std::string TakenBytes() {
    int socket;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(
          +[](HttpProtocolTest* test) { return !test->taken_.empty(); }, this));
      socket = taken_.back();
    }
    std::string bytes(64, '\0');
    bytes.resize(std::max<ssize_t>(0, recv(socket, bytes.data(), bytes.size(), 0)));
    return bytes;
  }

  absl::Mutex mu_;
  std::vector<int> taken_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpProtocolTest, ThePrefaceOfHttp2IsHandedOverUnread) {
  HttpTestClient client(server_->port());
  client.Send(absl::StrCat(kPreface, "settings"));
  EXPECT_EQ(TakenBytes(), absl::StrCat(kPreface, "settings"));
}

TEST_F(HttpProtocolTest, ThePrefaceMayComeByteByByte) {
  HttpTestClient client(server_->port());
  for (const char c : kPreface) client.Send(std::string(1, c));
  EXPECT_EQ(TakenBytes(), kPreface);
}

TEST_F(HttpProtocolTest, AllOthersSpeakHttp1) {
  for (const char* start : {"GET /a", "P", "PR", "PUT /a", "PRI * HTTP/1.1"}) {
    HttpTestClient client(server_->port());
    client.Send(start);
    // All that begins like the preface and goes on otherwise.
    client.Send(absl::StartsWith(start, "PRI") ? "\r\nHost: a\r\n\r\n" : "");
    if (absl::string_view(start) == "P") client.Send("OST /a");
    if (absl::string_view(start) == "PR") client.Send("OPFIND /a");
    client.Send(absl::StartsWith(start, "PRI") ? "" : " HTTP/1.0\r\n\r\n");
    const auto reply = client.Read();
    ASSERT_TRUE(reply.has_value()) << start;
    EXPECT_EQ(reply->status, 200) << start;
  }
}

TEST_F(HttpProtocolTest, APrefaceCutShortEndsWithItsClient) {
  for (const char* start : {"", "P", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r"}) {
    HttpTestClient client(server_->port());
    client.Send(start);
    client.CloseSending();
    EXPECT_TRUE(client.WaitForEnd()) << start;
  }
  absl::MutexLock lock(&mu_);
  EXPECT_TRUE(taken_.empty());
}

TEST_F(HttpProtocolTest, APrefaceThatStopsHoldsUpNobody) {
  HttpTestClient silent(server_->port()), half(server_->port());
  half.Send("PRI * HT");
  EXPECT_EQ(HttpTestClient(server_->port()).Ask("GET", "/a")->body, "/a");
  server_->Shutdown(absl::InfiniteFuture());
  EXPECT_TRUE(silent.WaitForEnd());
  EXPECT_TRUE(half.WaitForEnd());
}

}  // namespace
}  // namespace tessera::serving
