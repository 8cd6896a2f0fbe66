// Load on servers in this process: HTTP, and gRPC without its messages.
#include "benchmarks/load/load_run.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/http_server.h"

namespace tessera::benchmarks {
namespace {

using serving::HttpReply;
using serving::HttpRequest;
using serving::HttpResponder;
using serving::HttpServer;
using ::testing::HasSubstr;

// Answers "[1]" after `on_request`, on one thread.
class Http {
 public:
  explicit Http(std::function<void()> on_request = [] {}) {
    server_ = HttpServer::Start({}, [on_request](HttpRequest request, HttpResponder respond) {
                on_request();
                respond({.status = request.body == "good" ? 200 : 400, .body = "[1]"});
              }).value();
  }
  std::string url() const { return absl::StrCat("rest://127.0.0.1:", server_->port(), "/path"); }

 private:
  std::unique_ptr<HttpServer> server_;
};

// Answers every call with its request.
class GrpcEcho {
 public:
  GrpcEcho() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~GrpcEcho() { server_->Shutdown(); }
  std::string url() const { return absl::StrCat("grpc://127.0.0.1:", port_); }

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor() { StartRead(&bytes_); }
    void OnReadDone(bool ok) override {
      ok ? StartWriteAndFinish(&bytes_, {}, grpc::Status::OK) : Finish(grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer bytes_;
  };
  class Service : public grpc::CallbackGenericService {
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
      return new Reactor;
    }
  };

  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// All of a run with one request in one window.
struct Result {
  WindowSummary window;
  std::vector<std::string> failures;
};
Result Load(RequestTarget::Options target_options, const std::string& request,
            const LoadRun::Options& options, const std::string& right = "[1]") {
  auto target = MakeRequestTarget(target_options, {request}).value();
  AnswerCheck check(CompareJson, {{right}});
  LoadLog log;
  log.OpenWindow("run", absl::ZeroDuration());
  LoadRun run(options, target.get(), &check, &log);
  run.Run();
  return {log.Summaries().at(0), log.failures()};
}

TEST(LoadRunTest, OpenLoopSendsAsManyAsItsRateWhateverTheServerDoes) {
  Http http;
  const Result result =
      Load({.url = http.url()}, "good", {.rate = 500, .duration = absl::Seconds(1)});
  // The seed is fixed: so many gaps fit into a second, but for what is due at its very end.
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gap(500);
  int expected = 0;
  for (double t = gap(random); t < 1; t += gap(random)) ++expected;
  EXPECT_NEAR(static_cast<double>(result.window.right), expected, expected / 10.0);
  EXPECT_EQ(result.window.lost + result.window.wrong, 0);
}

TEST(LoadRunTest, AStallCountsForAllRequestsThatCameMeanwhile) {
  std::atomic<int> asked{0};
  Http http([&] {
    if (++asked == 20) absl::SleepFor(absl::Milliseconds(500));
  });
  const Result result =
      Load({.url = http.url()}, "good", {.rate = 200, .duration = absl::Seconds(1)});
  // About a hundred of the two hundred came while the server stood still. Had each been timed from
  // its own sending, with the others held back, one would have been slow.
  EXPECT_GT(result.window.max, absl::Milliseconds(400));
  EXPECT_GT(result.window.mean, absl::Milliseconds(50));
  EXPECT_EQ(result.window.lost, 0);
}

TEST(LoadRunTest, ClosedLoopKeepsItsRequestsUnderWay) {
  std::atomic<int> under_way{0}, most{0};
  std::unique_ptr<HttpServer> server =
      HttpServer::Start({.num_threads = 8}, [&](HttpRequest, HttpResponder respond) {
        const int now = ++under_way;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        absl::SleepFor(absl::Milliseconds(2));
        --under_way;
        respond({.status = 200, .body = "[1]"});
      }).value();
  const Result result = Load({.url = absl::StrCat("rest://127.0.0.1:", server->port(), "/")},
                             "good", {.in_flight = 3, .duration = absl::Milliseconds(300)});
  EXPECT_EQ(most, 3);
  EXPECT_GT(result.window.right, 3);
  EXPECT_EQ(result.window.lost, 0);
}

TEST(LoadRunTest, WrongAndLostAnswersAreSaid) {
  Http http;
  const LoadRun::Options brief = {.in_flight = 1, .duration = absl::Milliseconds(50)};
  Result result = Load({.url = http.url()}, "good", brief, "[2]");
  EXPECT_EQ(result.window.right, 0);
  EXPECT_GT(result.window.wrong, 0);
  EXPECT_THAT(result.failures.at(0), HasSubstr("/0: 1, not 2"));

  result = Load({.url = http.url()}, "bad", brief);
  EXPECT_GT(result.window.lost, 0);
  EXPECT_THAT(result.failures.at(0), HasSubstr("HTTP 400: [1]"));
}

TEST(LoadRunTest, NoServerLosesRequests) {
  const LoadRun::Options brief = {.in_flight = 1, .duration = absl::Milliseconds(50)};
  for (const char* url : {"rest://127.0.0.1:1/", "grpc://127.0.0.1:1"}) {
    const Result result = Load({.url = url}, "good", brief);
    EXPECT_GT(result.window.lost, 0) << url;
    EXPECT_THAT(result.failures.at(0), HasSubstr("UNAVAILABLE")) << url;
  }
}

TEST(LoadRunTest, AServerThatDoesNotAnswerInTimeLosesRequests) {
  Http http([] { absl::SleepFor(absl::Milliseconds(500)); });
  const Result result = Load({.url = http.url(), .timeout = absl::Milliseconds(50)}, "good",
                             {.in_flight = 1, .duration = absl::Milliseconds(20)});
  EXPECT_EQ(result.window.lost, 1);
  EXPECT_THAT(result.failures.at(0), HasSubstr("DEADLINE_EXCEEDED"));
}

TEST(LoadRunTest, GrpcCarriesRequestAndAnswerUntouched) {
  GrpcEcho echo;
  Result result =
      Load({.url = echo.url()}, "[1]", {.rate = 200, .duration = absl::Milliseconds(300)});
  EXPECT_GT(result.window.right, 0);
  EXPECT_EQ(result.window.lost + result.window.wrong, 0) << result.failures.at(0);
  result = Load({.url = echo.url()}, "[1]", {.in_flight = 4, .duration = absl::Milliseconds(50)});
  EXPECT_GT(result.window.right, 4);
  EXPECT_EQ(result.window.lost + result.window.wrong, 0) << result.failures.at(0);
}

TEST(RequestTargetTest, OtherUrlsAreRefused) {
  for (const char* url : {"", "127.0.0.1:1", "rest://127.0.0.1", "rest://a/b:1", "http://a:1/"}) {
    EXPECT_EQ(MakeRequestTarget({.url = url}, {"x"}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << url;
  }
}

}  // namespace
}  // namespace tessera::benchmarks
