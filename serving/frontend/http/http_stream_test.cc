#include "serving/frontend/http/http_stream.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/testing/http_client.h"

namespace tessera::serving {
namespace {

// A server whose replies are streams, which the test writes to.
class HttpStreamTest : public ::testing::Test {
 protected:
  HttpStreamTest() {
    server_ = *HttpServer::Start({}, [this](HttpRequest, HttpResponder respond) {
      respond({.content_type = "text/plain",
               .body = "first\n",
               .stream = [this](std::shared_ptr<HttpStream> stream) {
                 absl::MutexLock lock(&mu_);
                 streams_.push_back(std::move(stream));
               }});
    });
  }
  ~HttpStreamTest() override {
    absl::MutexLock lock(&mu_);
    streams_.clear();
  }
  // Waits for the next stream.
  std::shared_ptr<HttpStream> NextStream() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](HttpStreamTest* test) { return !test->streams_.empty(); }, this));
    auto stream = std::move(streams_.back());
    streams_.pop_back();
    return stream;
  }

  absl::Mutex mu_;
  std::vector<std::shared_ptr<HttpStream>> streams_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpStreamTest, SendsWhatIsWrittenUntilItIsDropped) {
  HttpTestClient client(server_->port());
  const auto head = client.Ask("GET", "/");
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.count("content-length"), 0);
  EXPECT_EQ(head->headers.at("connection"), "close");
  EXPECT_EQ(client.ReadUntil("\n"), "first\n");
  std::shared_ptr<HttpStream> stream = NextStream();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(stream->Write(absl::StrCat(i, "\n")));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.ReadUntil("\n"), absl::StrCat(i, "\n"));
  stream->Write("last\n");
  stream.reset();
  EXPECT_EQ(client.ReadUntil("\n"), "last\n");
  EXPECT_TRUE(client.WaitForEnd());
}

TEST_F(HttpStreamTest, HeadGetsNoStream) {
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Send("HEAD", "/", ""));
  EXPECT_EQ(client.Read(/*is_head=*/true)->status, 200);
  EXPECT_TRUE(client.WaitForEnd());
  absl::MutexLock lock(&mu_);
  EXPECT_TRUE(streams_.empty());
}

TEST_F(HttpStreamTest, AClientThatLeavesClosesIt) {
  auto client = std::make_unique<HttpTestClient>(server_->port());
  ASSERT_TRUE(client->Ask("GET", "/"));
  const std::shared_ptr<HttpStream> stream = NextStream();
  EXPECT_TRUE(stream->Write("x"));
  client.reset();
  while (stream->Write("x")) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(HttpStreamTest, AClientThatDoesNotReadIsDropped) {
  HttpTestClient slow(server_->port());
  ASSERT_TRUE(slow.Ask("GET", "/"));
  const std::shared_ptr<HttpStream> stream = NextStream();
  const std::string chunk(64 << 10, 'x');
  while (stream->Write(chunk)) {
  }
  EXPECT_TRUE(slow.WaitForEnd());
}

TEST_F(HttpStreamTest, ManyStreamsNeedOneThread) {
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  std::vector<std::shared_ptr<HttpStream>> streams;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(server_->port()));
    ASSERT_TRUE(clients.back()->Ask("GET", "/"));
    streams.push_back(NextStream());
  }
  for (const auto& stream : streams) EXPECT_TRUE(stream->Write("all\n"));
  for (const auto& client : clients) EXPECT_EQ(client->ReadUntil("all\n"), "first\nall\n");
}

TEST_F(HttpStreamTest, OutlivesItsServerClosed) {
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Ask("GET", "/"));
  const std::shared_ptr<HttpStream> stream = NextStream();
  server_->Shutdown(absl::InfiniteFuture());  // does not wait for streams
  EXPECT_TRUE(client.WaitForEnd());
  server_.reset();
  EXPECT_FALSE(stream->Write("x"));
}

TEST_F(HttpStreamTest, WritersMayMeetTheEndOfTheServer) {
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(server_->port()));
    ASSERT_TRUE(clients.back()->Ask("GET", "/"));
    writers.emplace_back([stream = NextStream()] {
      while (stream->Write(std::string(1024, 'x'))) {
      }
    });
  }
  server_.reset();
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace tessera::serving
