#include "serving/frontend/http/http_server.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/testing/http_client.h"

namespace tessera::serving {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

ptrdiff_t OpenFiles() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// A server that answers a request with itself: "METHOD TARGET BODY". The target "/wait" is answered
// when Release() is called, on a thread of its own, "/block" on the server's; "/drop" never;
// "/close" ends the connection.
class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    options_.num_threads = 2;
    options_.transfer_timeout = absl::Seconds(5);
  }
  ~HttpServerTest() override {
    Release();
    for (std::thread& thread : threads_) thread.join();
  }

  void Start() {
    auto server = HttpServer::Start(options_, [this](HttpRequest request, HttpResponder respond) {
      Answer(std::move(request), std::move(respond));
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void Release() {
    if (!released_.HasBeenNotified()) released_.Notify();
  }

  void Answer(HttpRequest request, HttpResponder respond) {
    if (request.target == "/drop") return;
    HttpReply reply;
    reply.content_type = "text/plain";
    reply.body = absl::StrCat(request.method, " ", request.target, " ", request.body);
    if (!request.Header("X-Echo").empty()) reply.body = std::string(request.Header("x-echo"));
    reply.close = request.target == "/close";
    if (request.target == "/status") reply.status = 404;
    if (request.target == "/block") {
      ++waiting_;
      released_.WaitForNotification();
    }
    if (request.target == "/large") {
      reply.body = std::string(10'000'000, 'x');
      ++large_;
    }
    if (request.target != "/wait") return respond(std::move(reply));
    ++waiting_;
    absl::MutexLock lock(&mu_);
    threads_.emplace_back([this, reply, respond] {
      released_.WaitForNotification();
      respond(reply);
    });
  }
  void AwaitWaiting(int count) {
    while (waiting_ < count) absl::SleepFor(absl::Milliseconds(1));
  }

  HttpServer::Options options_;
  absl::Notification released_;
  std::atomic<int> waiting_{0};
  std::atomic<int> large_{0};
  absl::Mutex mu_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOneRequestAfterTheOther) {
  Start();
  HttpTestClient client(server_->port());
  for (int i = 0; i < 100; ++i) {
    const auto reply = client.Ask("POST", "/a?b=c", absl::StrCat("body", i));
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->version, "HTTP/1.1");
    EXPECT_EQ(reply->body, absl::StrCat("POST /a?b=c body", i));
    EXPECT_EQ(reply->headers.at("content-type"), "text/plain");
    EXPECT_THAT(reply->headers.at("date"), HasSubstr(" GMT"));
    EXPECT_EQ(reply->headers.count("connection"), 0);
  }
  EXPECT_EQ(client.Ask("GET", "/status")->status, 404);
}

TEST_F(HttpServerTest, ListensOnBothFamilies) {
  Start();
  EXPECT_EQ(HttpTestClient(server_->port(), /*ipv6=*/false).Ask("GET", "/")->status, 200);
  const int probe = socket(AF_INET6, SOCK_STREAM, 0);
  if (probe < 0) GTEST_SKIP() << "needs IPv6";
  close(probe);
  EXPECT_EQ(HttpTestClient(server_->port(), /*ipv6=*/true).Ask("GET", "/")->status, 200);
}

TEST_F(HttpServerTest, TakenPortIsUnavailable) {
  Start();
  options_.port = server_->port();
  const auto second = HttpServer::Start(options_, [](HttpRequest, HttpResponder) {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat(options_.port)));
}

TEST_F(HttpServerTest, PortsThatThereAreNotAreUnavailable) {
  // The second would be 1 if only its lower half counted.
  for (const int port : {-1, (1 << 16) + 1}) {
    options_.port = port;
    const auto server = HttpServer::Start(options_, [](HttpRequest, HttpResponder) {});
    EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable) << port;
  }
}

TEST_F(HttpServerTest, NeedsThreads) {
  options_.num_threads = 0;
  EXPECT_EQ(HttpServer::Start(options_, [](HttpRequest, HttpResponder) {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(HttpServerTest, AnswersRequestsSentAheadInTurn) {
  Start();
  HttpTestClient client(server_->port());
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    absl::StrAppend(&requests, i % 10 == 0 ? "\r\n" : "", "POST /", i,
                    " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", i % 10);
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 50; ++i) {
    const auto reply = client.Read();
    ASSERT_TRUE(reply.has_value()) << i;
    EXPECT_EQ(reply->body, absl::StrCat("POST /", i, " ", i % 10));
  }
}

TEST_F(HttpServerTest, TakesRequestsByteByByte) {
  Start();
  HttpTestClient client(server_->port());
  for (const char c : std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")) {
    ASSERT_TRUE(client.Send(absl::string_view(&c, 1)));
  }
  EXPECT_EQ(client.Read()->body, "POST / abc");
}

TEST_F(HttpServerTest, PutsChunksTogether) {
  Start();
  HttpTestClient client(server_->port());
  ASSERT_TRUE(
      client.Send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nTrailer: z\r\n\r\n"));
  EXPECT_EQ(client.Read()->body, "POST / abc0123456789abcdef");
  EXPECT_EQ(client.Ask("GET", "/next")->body, "GET /next ");
}

TEST_F(HttpServerTest, TellsWaitingClientsToContinue) {
  Start();
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Send(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_EQ(client.Read()->status, 100);
  ASSERT_TRUE(client.Send("abc"));
  EXPECT_EQ(client.Read()->body, "POST / abc");
}

TEST_F(HttpServerTest, OldHttpEndsWithTheReply) {
  Start();
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Send("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"));
  const auto reply = client.Read();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->version, "HTTP/1.0");
  EXPECT_EQ(reply->body, "POST / abc");
  EXPECT_TRUE(client.WaitForEnd());

  HttpTestClient staying(server_->port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(staying.Send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    EXPECT_EQ(staying.Read()->headers.at("connection"), "keep-alive");
  }
}

TEST_F(HttpServerTest, EndsConnectionsWhenAsked) {
  Start();
  HttpTestClient by_client(server_->port());
  const auto reply = by_client.Ask("GET", "/", "", "Connection: close\r\n");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->headers.at("connection"), "close");
  EXPECT_TRUE(by_client.WaitForEnd());
  HttpTestClient by_handler(server_->port());
  EXPECT_EQ(by_handler.Ask("GET", "/close")->headers.at("connection"), "close");
  EXPECT_TRUE(by_handler.WaitForEnd());
  HttpTestClient dropped(server_->port());
  ASSERT_TRUE(dropped.Send("GET", "/drop", ""));
  EXPECT_TRUE(dropped.WaitForEnd());
}

TEST_F(HttpServerTest, HeadHasNoBodyAndNoLength) {
  Start();
  HttpTestClient client(server_->port());
  const auto reply = client.Ask("HEAD", "/");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->headers.count("content-length"), 0);
  EXPECT_EQ(client.Ask("GET", "/after")->body, "GET /after ");
}

TEST_F(HttpServerTest, HeadersAreFoundInAnyCase) {
  Start();
  HttpTestClient client(server_->port());
  EXPECT_EQ(client.Ask("GET", "/", "", "x-ECHO: \t value \r\n")->body, "value");
}

TEST_F(HttpServerTest, LargeBodiesBothWays) {
  Start();
  HttpTestClient client(server_->port());
  const std::string body(20'000'000, 'b');
  const auto reply = client.Ask("POST", "/", body);
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->body == "POST / " + body);
  EXPECT_EQ(client.Ask("GET", "/large")->body.size(), 10'000'000);
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  Start();
  for (const char* bytes : {
           "hello\r\n\r\n",
           "GET\r\n\r\n",
           "GET / HTTP/2.0\r\n\r\n",
           "GET / HTTP/1.1\r\nno colon\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
           "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
           "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
           "GET /a b HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n",
       }) {
    HttpTestClient client(server_->port());
    ASSERT_TRUE(client.Send(bytes));
    const auto reply = client.Read();
    ASSERT_TRUE(reply.has_value()) << bytes;
    EXPECT_THAT(reply->status, AnyOf(400, 413)) << bytes;
    EXPECT_EQ(reply->headers.at("connection"), "close");
    EXPECT_TRUE(client.WaitForEnd());
  }
  EXPECT_EQ(HttpTestClient(server_->port()).Ask("GET", "/")->status, 200);
}

// The bytes behind such a head must not be read as another request.
TEST_F(HttpServerTest, RefusesTransferCodingsThatItDoesNotKnow) {
  Start();
  for (const char* coding : {"gzip", "identity", "xchunked", "chunked, gzip", "gzip, chunked",
                             "chunked\r\nTransfer-Encoding: chunked"}) {
    HttpTestClient client(server_->port());
    ASSERT_TRUE(client.Send(absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ",
                                         coding, "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    const auto reply = client.Read();
    ASSERT_TRUE(reply.has_value()) << coding;
    EXPECT_THAT(reply->status, AnyOf(400, 501)) << coding;
    EXPECT_EQ(reply->headers.at("connection"), "close");
    EXPECT_TRUE(client.WaitForEnd());
  }
}

TEST_F(HttpServerTest, BoundsBodiesAnnouncedOrNot) {
  options_.max_body_bytes = 1000;
  Start();
  HttpTestClient within(server_->port());
  EXPECT_EQ(within.Ask("POST", "/", std::string(1000, 'x'))->status, 200);

  HttpTestClient announced(server_->port());
  ASSERT_TRUE(announced.Send("POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"));
  EXPECT_EQ(announced.Read()->status, 413);

  HttpTestClient chunked(server_->port());
  ASSERT_TRUE(chunked.Send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  // The rest may find the connection ended.
  for (int i = 0; i < 11 && chunked.Send("64\r\n" + std::string(100, 'x') + "\r\n"); ++i) continue;
  EXPECT_EQ(chunked.Read()->status, 413);
}

TEST_F(HttpServerTest, AdmitsByTheHeadBeforeTheBodyIsRead) {
  options_.admit = [](const HttpRequest& head, uint64_t* max_body_bytes) {
    *max_body_bytes = 10;
    return head.Header("Token") == "secret"
               ? std::nullopt
               : std::optional<HttpReply>({.status = 401, .body = head.target});
  };
  Start();
  HttpTestClient admitted(server_->port());
  EXPECT_EQ(admitted.Ask("POST", "/", "0123456789", "Token: secret\r\n")->status, 200);
  EXPECT_EQ(admitted.Ask("POST", "/", "0123456789", "Token: secret\r\n")->status, 200);
  // The bodies never come.
  HttpTestClient refused(server_->port());
  ASSERT_TRUE(refused.Send("POST /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"));
  const auto reply = refused.Read();
  EXPECT_EQ(reply->status, 401);
  EXPECT_EQ(reply->body, "/a");
  EXPECT_TRUE(refused.WaitForEnd());
  for (const char* body :
       {"Content-Length: 11\r\n\r\n", "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nb\r\n"}) {
    HttpTestClient announced(server_->port());
    ASSERT_TRUE(announced.Send(absl::StrCat("POST / HTTP/1.1\r\nToken: secret\r\n", body)));
    EXPECT_EQ(announced.Read()->status, 413) << body;
    EXPECT_TRUE(announced.WaitForEnd());
  }
}

// Bytes that this process has from malloc, touched or not. 0 under sanitizers, which have their
// own.
size_t BytesAllocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(HttpServerTest, AnnouncedLengthTakesNoMemory) {
  options_.max_body_bytes = uint64_t{1} << 60;
  Start();
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  const size_t before = BytesAllocated();
  for (const char* length : {"1000000000", "1000000000", "1000000000", "1000000000000000"}) {
    clients.push_back(std::make_unique<HttpTestClient>(server_->port()));
    ASSERT_TRUE(clients.back()->Send(absl::StrCat(
        "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: ", length, "\r\n\r\n")));
    ASSERT_EQ(clients.back()->Read()->status, 100);  // what it announced was read
    ASSERT_TRUE(clients.back()->Send("abc"));
  }
  EXPECT_LT(BytesAllocated(), before + 500'000'000);
  EXPECT_EQ(HttpTestClient(server_->port()).Ask("GET", "/")->status, 200);
}

TEST_F(HttpServerTest, AProcessWithoutFileDescriptorsDoesNotStartOne) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int first_free = dup(STDIN_FILENO);
  close(first_free);
  for (int spare = 0; spare < 3; ++spare) {
    const rlimit low = {.rlim_cur = static_cast<rlim_t>(first_free + spare),
                        .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    const auto server = HttpServer::Start(options_, nullptr);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("Too many open files"));
  }
}

TEST_F(HttpServerTest, BoundsHeaders) {
  options_.max_head_bytes = 10'000;
  Start();
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nA: " + std::string(20'000, 'x')));
  EXPECT_EQ(client.Read()->status, 431);
  EXPECT_TRUE(client.WaitForEnd());
  HttpTestClient within(server_->port());
  EXPECT_EQ(within.Ask("GET", "/" + std::string(8'000, 'x'))->status, 200);
}

// They come after the head, and are no part of the body.
TEST_F(HttpServerTest, BoundsExtensionsOfChunksAndTrailers) {
  options_.max_head_bytes = 10'000;
  Start();
  for (const char* body : {"1;a=", "0\r\nA: "}) {
    HttpTestClient client(server_->port());
    ASSERT_TRUE(client.Send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
    ASSERT_TRUE(client.Send(body));
    // The rest may find the connection ended.
    for (int i = 0; i < 100 && client.Send(std::string(1'000, 'x')); ++i) continue;
    const auto reply = client.Read();
    ASSERT_TRUE(reply.has_value()) << body;
    EXPECT_EQ(reply->status, 431) << body;
  }
}

TEST_F(HttpServerTest, OldClientsHaveNoChunks) {
  Start();
  HttpTestClient client(server_->port());
  ASSERT_TRUE(
      client.Send("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
                  "0\r\n\r\nGET /b HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(client.Read()->status, 400);
  EXPECT_TRUE(client.WaitForEnd());
}

// Whatever its size, it is told of by the reply for bodies that are too large.
TEST_F(HttpServerTest, ABodyBeyondAllLimitsIsRefusedLikeOthers) {
  options_.admit = [](const HttpRequest&, uint64_t* max_body_bytes) {
    *max_body_bytes = 10;
    return std::optional<HttpReply>();
  };
  options_.body_too_large = [](const HttpRequest& head) {
    return HttpReply{.status = 413, .body = "of " + head.target};
  };
  Start();
  for (const char* length : {"11", "3000000000", "1000000000000000"}) {
    HttpTestClient client(server_->port());
    ASSERT_TRUE(
        client.Send(absl::StrCat("POST /a HTTP/1.1\r\nContent-Length: ", length, "\r\n\r\n")));
    EXPECT_EQ(client.Read()->body, "of /a") << length;
  }
}

TEST_F(HttpServerTest, HeadersBeyondTheLimitsGetAReply) {
  Start();
  const std::string long_value(1000, 'x');
  std::string many;
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&many, "A", i, ": ", long_value, "\r\n");
  for (const std::string& headers :
       {absl::StrCat("A: ", std::string(66'000, 'x'), "\r\n"),
        absl::StrCat("A: ", std::string(900'000, 'x'), "\r\n"),
        absl::StrCat("A: ", std::string(2'000'000, 'x'), "\r\n"), many}) {
    HttpTestClient client(server_->port());
    const auto reply = client.Ask("GET", "/", "", headers);
    ASSERT_TRUE(reply.has_value()) << headers.size();
    EXPECT_EQ(reply->status, 431) << headers.size();
    EXPECT_TRUE(client.WaitForEnd());
  }
  EXPECT_EQ(
      HttpTestClient(server_->port()).Ask("GET", "/", "", many.substr(0, 900'000) + "\r\n")->status,
      200);
}

TEST_F(HttpServerTest, SlowClientsAreDropped) {
  options_.transfer_timeout = absl::Milliseconds(200);
  options_.idle_timeout = absl::Milliseconds(500);
  Start();
  HttpTestClient in_head(server_->port()), in_body(server_->port()), dribbling(server_->port()),
      line_by_line(server_->port()), idle(server_->port());
  ASSERT_TRUE(in_head.Send("GET / HTTP/1.1\r\nHo"));
  ASSERT_TRUE(in_body.Send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc"));
  // On a machine that holds this thread up for so long, the server drops it before it asks.
  if (const auto reply = idle.Ask("GET", "/")) {
    EXPECT_EQ(reply->status, 200);
  }
  const absl::Time start = absl::Now();
  // Each byte in time does not make the whole in time.
  for (int i = 0; i < 100; ++i) {
    if (!dribbling.Send(i == 0 ? "GET /" : "x")) break;
    if (!line_by_line.Send(i == 0 ? "GET / HTTP/1.1\r\n" : "A: b\r\n")) break;
    absl::SleepFor(absl::Milliseconds(20));
    if (absl::Now() - start > absl::Milliseconds(600)) break;
  }
  EXPECT_TRUE(in_head.WaitForEnd());
  EXPECT_TRUE(in_body.WaitForEnd());
  EXPECT_TRUE(dribbling.WaitForEnd());
  EXPECT_TRUE(line_by_line.WaitForEnd());
  EXPECT_TRUE(idle.WaitForEnd());
}

TEST_F(HttpServerTest, ClientThatReadsNothingIsDropped) {
  options_.transfer_timeout = absl::Milliseconds(200);
  // By its size alone, the reply would have minutes.
  options_.min_bytes_per_second = 10'000;
  Start();
  const ptrdiff_t before = OpenFiles();
  HttpTestClient client(server_->port(), /*ipv6=*/false, /*receive_buffer=*/4096);
  ASSERT_TRUE(client.Send("GET", "/large", ""));
  while (large_ == 0) absl::SleepFor(absl::Milliseconds(1));
  // The client's end of the connection is left.
  while (OpenFiles() > before + 1) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_FALSE(client.Read().has_value());
}

TEST_F(HttpServerTest, SlowAnswersHoldUpNobody) {
  Start();
  HttpTestClient slow(server_->port()), quick(server_->port());
  ASSERT_TRUE(slow.Send("GET", "/wait", ""));
  AwaitWaiting(1);
  EXPECT_EQ(quick.Ask("GET", "/")->status, 200);
  Release();
  EXPECT_EQ(slow.Read()->body, "GET /wait ");
}

TEST_F(HttpServerTest, ConnectionsAreSpreadOverTheThreads) {
  Start();
  HttpTestClient first(server_->port());
  ASSERT_EQ(first.Ask("GET", "/")->status, 200);
  HttpTestClient second(server_->port());
  ASSERT_EQ(second.Ask("GET", "/")->status, 200);
  ASSERT_TRUE(first.Send("GET", "/block", ""));
  AwaitWaiting(1);
  EXPECT_EQ(second.Ask("GET", "/")->status, 200);
  Release();
  EXPECT_EQ(first.Read()->body, "GET /block ");
}

TEST_F(HttpServerTest, ManyClientsAtOnce) {
  Start();
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int c = 0; c < 16; ++c) {
    clients.emplace_back([&, c] {
      HttpTestClient client(server_->port());
      for (int i = 0; i < 200; ++i) {
        const std::string body = absl::StrCat(c, ":", i);
        const auto reply = client.Ask("POST", "/", body);
        if (reply.has_value() && reply->body == "POST / " + body) ++answered;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 16 * 200);
}

TEST_F(HttpServerTest, ShutdownLetsRequestsEnd) {
  Start();
  const int port = server_->port();
  HttpTestClient idle(port), busy(port);
  ASSERT_EQ(idle.Ask("GET", "/")->status, 200);
  ASSERT_TRUE(busy.Send("GET", "/wait", ""));
  AwaitWaiting(1);
  std::thread release([this, port] {
    while (HttpTestClient::IsOpen(port)) absl::SleepFor(absl::Milliseconds(1));
    Release();
  });
  server_->Shutdown(absl::Now() + absl::Seconds(10));
  release.join();
  EXPECT_TRUE(idle.WaitForEnd());
  const auto reply = busy.Read();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->body, "GET /wait ");
  EXPECT_EQ(reply->headers.at("connection"), "close");
  EXPECT_FALSE(HttpTestClient::IsOpen(port));
}

TEST_F(HttpServerTest, ShutdownDoesNotWaitForEver) {
  Start();
  HttpTestClient busy(server_->port());
  ASSERT_TRUE(busy.Send("GET", "/wait", ""));
  AwaitWaiting(1);
  const absl::Time start = absl::Now();
  server_->Shutdown(start + absl::Milliseconds(100));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_TRUE(busy.WaitForEnd());
  // The answer comes too late, and does no harm.
  server_->Stop();
  Release();
  absl::MutexLock lock(&mu_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

TEST_F(HttpServerTest, ListensOnOneAddress) {
  options_.address = "127.0.0.2";
  Start();
  EXPECT_FALSE(HttpTestClient::IsOpen(server_->port()));  // asks 127.0.0.1
  options_.address = "127.0.0.1";
  Start();
  EXPECT_TRUE(HttpTestClient::IsOpen(server_->port()));
  options_.address = "localhost";
  EXPECT_TRUE(absl::IsInvalidArgument(
      HttpServer::Start(options_, [](HttpRequest, HttpResponder) {}).status()));
}

}  // namespace
}  // namespace tessera::serving
