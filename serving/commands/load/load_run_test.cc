// Load on servers in this process: a made-up one, in whose time the load is sent; HTTP, and gRPC
// without its messages.
#include "serving/commands/load/load_run.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/http_server.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

// A server that answers one request after the other, and the clock it is asked by: time passes
// while the load sleeps, and nothing else takes any.
class MadeUpServer final : public LoadClock, public RequestTarget {
 public:
  // How long the n-th request takes, the first being 1.
  using ServiceTime = std::function<absl::Duration(int)>;
  explicit MadeUpServer(ServiceTime service_time) : service_time_(std::move(service_time)) {}

  int requests() const { return requests_; }
  size_t most_under_way() const { return most_under_way_; }

  absl::Duration Now() override { return now_; }
  void SleepUntil(absl::Duration time) override {
    while (!answers_.empty() && answers_.front().time <= time) {
      const Answer answer = std::move(answers_.front());
      answers_.pop_front();
      now_ = std::max(now_, answer.time);
      answer.on_reply(absl::OkStatus(), "[1]");
    }
    now_ = std::max(now_, time);
  }
  void Send(size_t, OnReply on_reply) override {
    free_ = std::max(free_, now_) + service_time_(++requests_);
    answers_.push_back({free_, std::move(on_reply)});
    most_under_way_ = std::max(most_under_way_, answers_.size());
  }

 private:
  struct Answer {
    absl::Duration time;
    OnReply on_reply;
  };

  const ServiceTime service_time_;
  absl::Duration now_ = absl::Hours(1);
  absl::Duration free_;  // when all that was asked is answered
  std::deque<Answer> answers_;
  int requests_ = 0;
  size_t most_under_way_ = 0;
};

// Answers "[1]" after `on_request`, on one thread; to a GET, an error with its path and its headers
// "key" and "Host". Listens on all addresses unless one is given.
class Http {
 public:
  explicit Http(
      std::function<void()> on_request = [] {}, const std::string& address = "") {
    server_ = HttpServer::Start({.address = address}, [on_request](HttpRequest request,
                                                                   HttpResponder respond) {
                on_request();
                if (request.method == "GET") {
                  return respond({.status = 404,
                                  .body = absl::StrCat("{\"error\": \"", request.target, " ",
                                                       request.Header("key"), " ",
                                                       request.Header("host"), "\"}")});
                }
                respond({.status = request.body == "good" ? 200 : 400, .body = "[1]"});
              }).value();
  }
  std::string url(absl::string_view host = "127.0.0.1") const {
    return absl::StrCat("rest://", host, ":", port(), "/path");
  }
  int port() const { return server_->port(); }

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
Result Load(RequestTarget* target, const LoadRun::Options& options,
            const std::string& right = "[1]") {
  const auto check = [&](size_t, absl::string_view answer) {
    return answer == right ? "" : absl::StrCat(answer, ", not ", right);
  };
  LoadLog log;
  log.OpenWindow("run", absl::ZeroDuration());
  LoadRun run(options, target, check, &log);
  run.Run();
  return {log.Summaries().at(0), log.failures()};
}
Result Load(const RequestTarget::Options& target_options, const std::string& request,
            const LoadRun::Options& options, const std::string& right = "[1]") {
  return Load(MakeRequestTarget(target_options, {request}).value().get(), options, right);
}
Result Load(MadeUpServer* server, LoadRun::Options options) {
  options.clock = server;
  return Load(static_cast<RequestTarget*>(server), options);
}

// When an open loop sends, with the seed that is the default.
std::vector<absl::Duration> SendingTimes(double rate, absl::Duration duration) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gap(rate);
  std::vector<absl::Duration> times;
  for (absl::Duration time; (time += absl::Seconds(gap(random))) < duration;) times.push_back(time);
  return times;
}

TEST(LoadRunTest, OpenLoopSendsAtItsTimesWhateverTheServerDoes) {
  MadeUpServer slow([](int) { return absl::Milliseconds(10); });  // a hundred a second
  const Result result = Load(&slow, {.rate = 500, .duration = absl::Seconds(1)});
  EXPECT_EQ(result.window.right, SendingTimes(500, absl::Seconds(1)).size());
  EXPECT_EQ(result.window.lost + result.window.wrong, 0);
  EXPECT_EQ(result.window.lag_p99, absl::ZeroDuration());
  EXPECT_EQ(result.window.length, absl::Seconds(1));
}

TEST(LoadRunTest, AStallCountsForAllRequestsThatCameMeanwhile) {
  constexpr absl::Duration kStall = absl::Milliseconds(500);
  MadeUpServer stalling([&](int n) { return n == 20 ? kStall : absl::ZeroDuration(); });
  const Result result = Load(&stalling, {.rate = 200, .duration = absl::Seconds(1)});
  const std::vector<absl::Duration> times = SendingTimes(200, absl::Seconds(1));
  absl::Duration waited;
  for (size_t i = 19; i < times.size(); ++i) {
    waited += std::max(absl::ZeroDuration(), times[19] + kStall - times[i]);
  }
  // About a hundred of the two hundred came while the server stood still. Had each been timed from
  // its own sending, with the others held back, one would have been slow.
  EXPECT_EQ(result.window.max, kStall);
  EXPECT_NEAR(absl::ToDoubleMicroseconds(result.window.mean),
              absl::ToDoubleMicroseconds(waited) / times.size(), 1);
  EXPECT_GT(result.window.mean, absl::Milliseconds(50));
}

TEST(LoadRunTest, ClosedLoopKeepsItsRequestsUnderWay) {
  MadeUpServer server([](int) { return absl::Milliseconds(2); });
  const Result result = Load(&server, {.in_flight = 3, .duration = absl::Milliseconds(300)});
  EXPECT_EQ(server.most_under_way(), 3);
  // The first three, and one for each answer before the end, which come every two milliseconds.
  EXPECT_EQ(server.requests(), 3 + 149);
  EXPECT_EQ(result.window.right, server.requests());
}

TEST(LoadRunTest, WrongAndLostAnswersAreSaid) {
  Http http;
  const LoadRun::Options brief = {.in_flight = 1, .duration = absl::Milliseconds(50)};
  Result result = Load({.url = http.url()}, "good", brief, "[2]");
  EXPECT_EQ(result.window.right, 0);
  EXPECT_GT(result.window.wrong, 0);
  EXPECT_THAT(result.failures.at(0), HasSubstr("[1], not [2]"));

  result = Load({.url = http.url()}, "bad", brief);
  EXPECT_GT(result.window.lost, 0);
  EXPECT_THAT(result.failures.at(0), HasSubstr("INVALID_ARGUMENT: HTTP 400: [1]"));
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
  absl::Notification lost;
  Http http([&] { lost.WaitForNotification(); });
  const Result result = Load({.url = http.url(), .timeout = absl::Milliseconds(50)}, "good",
                             {.in_flight = 1, .duration = absl::Milliseconds(20)});
  lost.Notify();
  EXPECT_EQ(result.window.lost, 1);
  EXPECT_THAT(result.failures.at(0), HasSubstr("DEADLINE_EXCEEDED"));
}

TEST(LoadRunTest, GrpcCarriesRequestAndAnswerUntouched) {
  GrpcEcho echo;
  const Result result =
      Load({.url = echo.url()}, "[1]", {.in_flight = 4, .duration = absl::Milliseconds(50)});
  EXPECT_GE(result.window.right, 4);
  EXPECT_EQ(result.window.lost + result.window.wrong, 0) << result.failures.at(0);
}

// The status of one request.
absl::Status Ask(const RequestTarget::Options& options, const std::string& request) {
  const auto target = MakeRequestTarget(options, {request}).value();
  absl::Status result;
  absl::Notification done;
  target->Send(0, [&](const absl::Status& status, absl::string_view) {
    result = status;
    done.Notify();
  });
  done.WaitForNotification();
  return result;
}

TEST(RequestTargetTest, AnEmptyRequestGetsWithItsHeadersAndErrorsAreTakenFromJson) {
  Http http;
  EXPECT_EQ(Ask({.url = http.url(), .headers = {{"key", "value"}}}, ""),
            absl::NotFoundError(absl::StrCat("/path value 127.0.0.1:", http.port())));
}

TEST(RequestTargetTest, TheHostHeaderOfAnIpv6AddressHasBrackets) {
  if (!HttpServer::Start({.address = "::1"}, [](HttpRequest, HttpResponder) {}).ok()) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  Http http;
  EXPECT_EQ(Ask({.url = http.url("[::1]"), .headers = {{"key", "value"}}}, ""),
            absl::NotFoundError(absl::StrCat("/path value [::1]:", http.port())));
}

TEST(RequestTargetTest, AllAddressesOfAHostAreTried) {
  Http http([] {}, "127.0.0.1");
  // An empty host stands for the loopback addresses of both families, that of IPv6 first.
  const absl::Status status = Ask({.url = http.url("")}, "good");
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RequestTargetTest, AMethodOfGrpcMayBeNamed) {
  GrpcEcho echo;
  EXPECT_TRUE(Ask({.url = echo.url() + "/any.Service/Method"}, "x").ok());
}

TEST(RequestTargetTest, OtherUrlsAreRefused) {
  for (const char* url : {"", "127.0.0.1:1", "rest://127.0.0.1", "rest://a/b:1", "http://a:1/"}) {
    EXPECT_EQ(MakeRequestTarget({.url = url}, {"x"}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << url;
  }
}

}  // namespace
}  // namespace tessera::serving
