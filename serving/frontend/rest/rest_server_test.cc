// The REST API over HTTP, with a model that needs no graph: y = x / 2 + 2.
#include "serving/frontend/rest/rest_server.h"

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/host/pace.h"
#include "serving/frontend/http/testing/http_client.h"
#include "serving/servables/saved_model/testing/linear_session.h"
#include "serving/servables/served_models.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RestServerTest : public ::testing::Test {
 protected:
  RestServerTest() {
    std::string pattern = ::testing::TempDir() + "/rest_XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "m" / "123");
    ServedModels::Options options;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.allow_labels_for_unavailable_models = true;
    options.platforms["tensorflow"] =
        [this](const ServableId&,
               const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<LinearLoader>(directory, &log_);
    };
    models_ = std::make_unique<ServedModels>(options);
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_);
    options_.num_threads = 4;
    options_.api.monitoring_path = "/monitoring/prometheus/metrics";
  }
  ~RestServerTest() override {
    server_.reset();
    handler_.reset();
    models_.reset();
    fs::remove_all(root_);
  }

  void Configure() {
    tensorflow::serving::ModelServerConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model_config_list { config { name: 'm' base_path: '", (root_ / "m").string(),
                     "' model_platform: 'tensorflow' version_labels { key: 'stable' value: 123 } "
                     "} }"),
        &config));
    const absl::Status status = models_->ApplyConfig(config);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Start() {
    auto server = RestServer::Start(options_, handler_.get());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void StartWithAccessLog() {
    auto log = AccessLog::Open(AccessLogPath(), &metrics_);
    ASSERT_TRUE(log.ok()) << log.status();
    access_log_ = *std::move(log);
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_, nullptr, nullptr,
                                                RequestLogging{.access = access_log_.get()});
    Configure();
    Start();
  }
  std::vector<std::string> StopAndReadAccessLog() {
    server_.reset();
    access_log_->Flush();
    return absl::StrSplit(*ReadFile(AccessLogPath()), '\n', absl::SkipEmpty());
  }
  std::string AccessLogPath() const { return (root_ / "access.log").string(); }
  HttpTestClient::Reply Ask(absl::string_view method, absl::string_view target,
                            absl::string_view body = "", absl::string_view headers = "") {
    HttpTestClient client(server_->port());
    return client.Ask(method, target, body, headers).value_or(HttpTestClient::Reply());
  }
  double Count(absl::string_view model, absl::string_view status) {
    return metrics_.AddCounter("/tensorflow/serving/request_count", {"model_name", "status"})
        ->Get({model, status})
        .Value();
  }

  fs::path root_;
  LinearSessionLog log_;
  MetricsRegistry metrics_;
  Pacer pacer_;
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<AccessLog> access_log_;  // outlives the handler
  std::unique_ptr<RequestHandler> handler_;
  RestServer::Options options_;
  std::unique_ptr<RestServer> server_;
};

TEST_F(RestServerTest, EachRequestHasALineInTheAccessLog) {
  StartWithAccessLog();
  const std::string predict = R"({"instances": [1.0]})";
  EXPECT_EQ(Ask("POST", "/v1/models/m:predict", predict).status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models/gone/metadata").status, 404);
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  const std::vector<std::string> lines = StopAndReadAccessLog();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr(R"("protocol":"http","method":"POST",)"
                                  R"("path":"/v1/models/m:predict","model":"m","version":123,)"
                                  R"("status":"200")"));
  EXPECT_THAT(lines[0], HasSubstr(absl::StrCat("\"bytes_in\":", predict.size(), ",")));
  EXPECT_THAT(lines[0], HasSubstr("\"peer\":\"127.0.0.1:"));
  EXPECT_THAT(lines[1], HasSubstr(R"("path":"/v1/models/gone/metadata","model":"gone",)"
                                  R"("status":"404")"));
  EXPECT_THAT(lines[2], HasSubstr(R"("path":"/livez","status":"200")"));
}

TEST_F(RestServerTest, RequestsThatCannotBeReadHaveALineInTheAccessLog) {
  StartWithAccessLog();
  EXPECT_EQ(Ask("GET", "/head", "", "A: " + std::string(66'000, 'x') + "\r\n").status, 431);
  // The client announces a length as well.
  EXPECT_EQ(Ask("POST", "/coding", "", "Transfer-Encoding: zip\r\n").status, 400);
  EXPECT_EQ(Ask("GET", "/malformed", "", "no header\r\n").status, 400);
  EXPECT_EQ(Ask("\1\2\3", "nonsense").status, 400);
  const std::vector<std::string> lines = StopAndReadAccessLog();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr(R"("method":"GET","path":"/head","status":"431")"));
  EXPECT_THAT(lines[0], HasSubstr("\"peer\":\"127.0.0.1:"));
  EXPECT_THAT(lines[1], HasSubstr(R"("method":"POST","path":"/coding","status":"400")"));
  EXPECT_THAT(lines[2], HasSubstr(R"("method":"GET","path":"/malformed","status":"400")"));
}

TEST_F(RestServerTest, FailuresAreLoggedWithTheirTrace) {
  Configure();
  Start();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Ask("POST", "/v1/models/gone:predict", R"({"instances": [1.0]})",
                "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n")
                .status,
            404);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("rest predict of model 'gone': NOT_FOUND"),
                    HasSubstr("; trace 4bf92f3577b34da6a3ce929d0e0e4736\n")));
}

TEST_F(RestServerTest, Predicts) {
  Configure();
  Start();
  const auto reply = Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0, 2.0]})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(reply.body,
            "{\n    \"predictions\": [\n        {\n            \"y\": 2.5,\n            \"z\": "
            "1.0\n        },\n        {\n            \"y\": 3.0,\n            \"z\": 2.0\n        "
            "}\n    ]\n}");
  EXPECT_EQ(
      Ask("POST", "/v1/models/m/labels/stable:predict",
          R"({"signature_name": "with_default", "inputs": [4]})")
          .body,
      "{\n    \"outputs\": {\n        \"y\": [\n            4.0\n        ],\n        \"z\": [\n"
      "            4.0\n        ]\n    }\n}");
  EXPECT_EQ(Ask("POST", "/v1/models/m/versions/123:predict",
                R"({"signature_name": "two_inputs", "inputs": {"a": 2, "b": 4}})")
                .status,
            200);
}

TEST_F(RestServerTest, DefaultsFillInputsThatBodiesLeaveOut) {
  Configure();
  Start();
  for (const char* rest : {R"("inputs": {})", R"("instances": [{}])"}) {
    const auto reply = Ask("POST", "/v1/models/m:predict",
                           absl::StrCat(R"({"signature_name": "with_default", )", rest, "}"));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("5.0")) << "6 / 2 + 2";
  }
  EXPECT_EQ(Ask("POST", "/v1/models/m:predict", R"({"inputs": {}})").status, 400);
}

TEST_F(RestServerTest, ClassifiesAndRegresses) {
  Configure();
  Start();
  EXPECT_THAT(Ask("POST", "/v1/models/m:classify",
                  R"({"signature_name": "classify", "examples": [{"x": 1.0}]})")
                  .body,
              StartsWith("{\n    \"results\": [[[\""));
  const auto reply = Ask("POST", "/v1/models/m:regress",
                         R"({"signature_name": "regress", "examples": [{"x": 1.0}, {}]})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, StartsWith("{\n    \"results\": ["));
  EXPECT_THAT(Ask("POST", "/v1/models/m:regress", R"({"examples": [{}]})").body,
              HasSubstr("\"error\": \""));
}

TEST_F(RestServerTest, ErrorsHaveTheStatusOfTheirCode) {
  Configure();
  Start();
  struct Case {
    const char* method;
    const char* target;
    const char* body;
    int status;
    const char* message;
  };
  const char* const kGood = R"({"instances": [1.0]})";
  const Case kCases[] = {
      {"POST", "/v1/models/m:predict", "zz", 400, "JSON Parse error"},
      {"POST", "/v1/models/nope:predict", "zz", 400, "JSON Parse error"},
      {"POST", "/v1/models/nope:predict", kGood, 404,
       "Servable not found for request: Latest(nope)"},
      {"POST", "/v1/models/m/versions/7:predict", kGood, 404, "Specific(m, 7)"},
      {"POST", "/v1/models/m/labels/zz:predict", kGood, 400, "label: zz"},
      {"POST", "/v1/models/m:predict", R"({"signature_name": "no", "instances": [1]})", 400,
       "Serving signature name: \\\"no\\\" not found in signature def"},
      {"POST", "/v1/models/m:Predict", kGood, 400, "Malformed request: POST /v1/models/m:Predict"},
      {"GET", "/v1/models/m/METADATA", "", 400, "Malformed request: GET /v1/models/m/METADATA"},
      {"PUT", "/v1/models/m:predict", kGood, 400, "Malformed request: PUT"},
      {"GET", "/v1/models", "", 400, "Missing model name in request."},
      {"GET", "/v1/models/nope", "", 404, "Could not find any versions of model nope"},
      {"GET", "/v1/models/nope/metadata", "", 404, "Latest(nope)"},
      {"GET", "/v1/foo", "", 400, "Malformed request: GET /v1/foo"},
      {"POST", "/v1/models/m:classify", R"({"signature_name": "zz", "examples": [{}]})", 400,
       "No signature was found with the name: zz"},
  };
  for (const Case& c : kCases) {
    const auto reply = Ask(c.method, c.target, c.body);
    EXPECT_EQ(reply.status, c.status) << c.target;
    EXPECT_THAT(reply.body, StartsWith("{\n    \"error\": \"")) << c.target;
    EXPECT_THAT(reply.body, HasSubstr(c.message)) << c.target;
    EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  }
}

TEST_F(RestServerTest, DescribesModels) {
  Configure();
  Start();
  const auto status = Ask("GET", "/v1/models/m/labels/ignored");
  EXPECT_EQ(status.status, 200);
  EXPECT_EQ(status.body,
            "{\n \"model_version_status\": [\n  {\n   \"version\": \"123\",\n   \"state\": "
            "\"AVAILABLE\",\n   \"status\": {\n    \"error_code\": \"OK\",\n    "
            "\"error_message\": \"\"\n   }\n  }\n ]\n}\n");
  const auto metadata = Ask("GET", "/v1/models/m/metadata");
  EXPECT_EQ(metadata.status, 200);
  EXPECT_THAT(metadata.body, StartsWith("{\n\"model_spec\": {\n \"name\": \"m\",\n "
                                        "\"signature_name\": \"\",\n \"version\": \"123\"\n}"));
  EXPECT_THAT(metadata.body, HasSubstr("\"metadata\": {\"signature_def\": {\n \"signature_def\":"));
  EXPECT_EQ(Ask("GET", "/v1/models/m/labels/zz/metadata").status, 400);
}

TEST_F(RestServerTest, ListsModels) {
  Start();
  EXPECT_EQ(Ask("GET", "/models").body, "{\n    \"models\": []\n}");
  Configure();
  const auto list = Ask("GET", "/models?any");
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(list.headers.at("content-type"), "application/json");
  EXPECT_EQ(list.body, R"({
    "models": [
        {
            "name": "m",
            "model_version_status": [
                {
                    "version": "123",
                    "state": "AVAILABLE",
                    "status": {
                        "error_code": "OK",
                        "error_message": ""
                    }
                }
            ]
        }
    ]
})");
  EXPECT_EQ(Ask("HEAD", "/models").status, 200);
  const auto post = Ask("POST", "/models");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(post.headers.at("allow"), "GET, HEAD");
}

TEST_F(RestServerTest, TellsWhetherModelsAreReady) {
  Start();
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 503);
  Configure();
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  EXPECT_EQ(Ask("HEAD", "/readyz").status, 200);
}

TEST_F(RestServerTest, ProbesAndPagesHaveTheirMethodsAlone) {
  options_.api.pages = {{"GET", "/page", [](const HttpRequest&) -> HttpReply { return {}; }}};
  Start();
  for (const char* path : {"/livez", "/readyz", "/readyz?verbose", "/page"}) {
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
      const auto reply = Ask(method, path);
      EXPECT_EQ(reply.status, 405) << method << ' ' << path;
      EXPECT_EQ(reply.headers.at("allow"), "GET, HEAD") << method << ' ' << path;
    }
  }
  EXPECT_EQ(Ask("POST", "/nowhere").status, 404);
}

TEST_F(RestServerTest, WhatIsOutsideTheApiIsNotFound) {
  Start();
  const auto reply = Ask("GET", "/index.html");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.headers.at("content-type"), "text/html");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(Ask("GET", "/v1").status, 404);
  EXPECT_EQ(Ask("OPTIONS", "/index.html").status, 404);
  EXPECT_EQ(Ask("TRACE", "/v1/models/m").status, 501);
  EXPECT_EQ(Ask("GET", "http://host:1/v1/foo").status, 400);
}

TEST_F(RestServerTest, ShowsMetricsWhereItIsTold) {
  Start();
  const auto reply = Ask("POST", "/monitoring/prometheus/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/plain");
  EXPECT_THAT(reply.body, HasSubstr("# TYPE :tensorflow:serving:request_count counter\n"));
  const auto with_query = Ask("GET", "/monitoring/prometheus/metrics?x");
  EXPECT_EQ(with_query.status, 400);
  EXPECT_EQ(with_query.body,
            "Unexpected path: /monitoring/prometheus/metrics?x. Should be "
            "/monitoring/prometheus/metrics");
  EXPECT_EQ(Ask("GET", "/Monitoring/prometheus/metrics").status, 404);
  options_.api.monitoring_path = "";
  Start();
  EXPECT_EQ(Ask("GET", "/monitoring/prometheus/metrics").status, 404);
  options_.api.monitoring_path = "/v1/models/m";
  Start();
  EXPECT_EQ(Ask("GET", "/v1/models/m").headers.at("content-type"), "text/plain");
}

TEST_F(RestServerTest, CountsEveryRequestOfTheApi) {
  Configure();
  Start();
  Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})");
  Ask("GET", "/v1/models/m");
  Ask("POST", "/v1/models/m:predict", "zz");
  Ask("POST", "/v1/models/nope:regress", R"({"examples": [{}]})");
  Ask("GET", "/v1/foo");
  Ask("OPTIONS", "/v1/models/m:predict");
  Ask("GET", "/index.html");
  EXPECT_EQ(Count("m", "OK"), 2);
  EXPECT_EQ(Count("m", "INVALID_ARGUMENT"), 1);
  EXPECT_EQ(Count("nope", "NOT_FOUND"), 1);
  EXPECT_EQ(Count("", "INVALID_ARGUMENT"), 1);
  EXPECT_EQ(Count("", "FAILED_PRECONDITION"), 1);
  const std::string page = Ask("GET", "/monitoring/prometheus/metrics").body;
  EXPECT_THAT(page, HasSubstr("request_latency_count{model_name=\"m\",API=\"predict\",entrypoint="
                              "\"REST\"} 1"));
  EXPECT_THAT(page, HasSubstr("request_latency_count{model_name=\"m\",API=\"\",entrypoint="
                              "\"REST\"} 1"));
  EXPECT_THAT(page, Not(HasSubstr("API=\"regress\"")));
}

TEST_F(RestServerTest, OptionsAskForAnOrigin) {
  Configure();
  Start();
  const auto with = Ask("OPTIONS", "/v1/models/m:predict", "", "Origin: https://example.com\r\n");
  EXPECT_EQ(with.status, 200);
  EXPECT_EQ(with.body, "");
  EXPECT_EQ(with.headers.count("access-control-allow-origin"), 0);
  const auto without = Ask("OPTIONS", "/v1/models/m:predict");
  EXPECT_EQ(without.status, 400);
  EXPECT_EQ(without.body, "");
}

TEST_F(RestServerTest, CorsHeadersOfEveryReply) {
  options_.api.enable_cors = true;
  Configure();
  Start();
  for (const auto& reply :
       {Ask("GET", "/v1/models/m"), Ask("GET", "/v1/foo"), Ask("OPTIONS", "/v1/foo"),
        Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})")}) {
    EXPECT_EQ(reply.headers.at("access-control-allow-origin"), "*");
    EXPECT_EQ(reply.headers.at("access-control-allow-methods"), "POST, GET");
    EXPECT_EQ(reply.headers.at("access-control-allow-headers"), "Content-Type");
  }
}

TEST_F(RestServerTest, HeadHasNoBody) {
  Configure();
  Start();
  const auto reply = Ask("HEAD", "/v1/models/m");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(reply.headers.count("content-length"), 0);
}

TEST_F(RestServerTest, BodiesThatAreNoGzipAreNamed) {
  Configure();
  Start();
  const auto reply =
      Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})", "Content-Encoding: GZIP\r\n");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("the body is no gzip data"));
}

TEST_F(RestServerTest, CompressionOtherThanGzipIsRefused) {
  Configure();
  Start();
  for (const char* coding : {"deflate", " BR", "zstd", "compress"}) {
    const auto reply = Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})",
                           absl::StrCat("Content-Encoding: ", coding, "\r\n"));
    EXPECT_EQ(reply.status, 415) << coding;
    EXPECT_THAT(reply.body, HasSubstr("is not supported: send the body as it is, or compressed"));
  }
  EXPECT_EQ(Count("m", "INVALID_ARGUMENT"), 4);
}

TEST_F(RestServerTest, NamesThatAreNoCompressionAreIgnored) {
  Configure();
  Start();
  for (const char* coding : {"identity", "utf-8", ""}) {
    EXPECT_EQ(Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})",
                  absl::StrCat("Content-Encoding: ", coding, "\r\n"))
                  .status,
              200)
        << coding;
  }
}

TEST_F(RestServerTest, LargeBodiesAndSlowModelsHoldUpNobody) {
  absl::Notification release;
  std::atomic<int> running{0};
  log_.on_run = [&](const RunOptions&) {
    ++running;
    release.WaitForNotification();
    return absl::OkStatus();
  };
  options_.num_threads = 2;
  Configure();
  Start();
  // The first run of a signature is of unknown length; these fill the pool.
  std::string large = "{\"signature_name\": \"with_default\", \"inputs\": [1";
  while (large.size() <= RestRuns::kInlineBodyBytes) large += ",1";
  large += "]}";
  HttpTestClient first(server_->port()), second(server_->port());
  ASSERT_TRUE(first.Send("POST", "/v1/models/m:predict", R"({"instances": [1.0]})"));
  ASSERT_TRUE(second.Send("POST", "/v1/models/m:predict", large));
  while (running < 2) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models/m").status, 200);
  release.Notify();
  EXPECT_EQ(first.Read()->status, 200);
  EXPECT_EQ(second.Read()->status, 200);
}

TEST_F(RestServerTest, PackedBodiesAreReadOnThePool) {
  // Fills the pool, and holds what comes after it.
  absl::Notification release;
  std::atomic<int> running{0};
  log_.on_run = [&](const RunOptions&) {
    ++running;
    release.WaitForNotification();
    return absl::OkStatus();
  };
  options_.num_threads = 1;
  Configure();
  Start();
  HttpTestClient first(server_->port()), packed(server_->port());
  ASSERT_TRUE(first.Send("POST", "/v1/models/m:predict", R"({"instances": [1.0]})"));
  while (running < 1) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_TRUE(packed.Send("POST", "/v1/models/m:predict", "no gzip", "Content-Encoding: gzip\r\n"));
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(Count("m", "INVALID_ARGUMENT"), 0);
  release.Notify();
  EXPECT_EQ(first.Read()->status, 200);
  EXPECT_EQ(packed.Read()->status, 400);
}

TEST_F(RestServerTest, RunsHaveTheTimeout) {
  absl::Duration timeout;
  log_.on_run = [&](const RunOptions& options) {
    timeout = options.timeout;
    return absl::DeadlineExceededError("too slow");
  };
  options_.api.timeout = absl::Seconds(5);
  Configure();
  Start();
  EXPECT_EQ(Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})").status, 504);
  EXPECT_LE(timeout, absl::Seconds(5));
  EXPECT_GT(timeout, absl::Seconds(4));
  options_.api.timeout = absl::ZeroDuration();
  Start();
  Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})");
  EXPECT_EQ(timeout, absl::InfiniteDuration());
}

TEST_F(RestServerTest, ShutdownCancelsWhatDoesNotEnd) {
  std::atomic<bool> running{false};
  log_.on_run = [&](const RunOptions& options) {
    running = true;
    while (!options.cancellation->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return absl::CancelledError("cancelled");
  };
  Configure();
  Start();
  HttpTestClient client(server_->port());
  ASSERT_TRUE(client.Send("POST", "/v1/models/m:predict", R"({"instances": [1.0]})"));
  while (!running) absl::SleepFor(absl::Milliseconds(1));
  const absl::Time start = absl::Now();
  server_->Shutdown(start + absl::Milliseconds(50));
  server_.reset();
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_TRUE(client.WaitForEnd());
}

TEST_F(RestServerTest, EndsWhileRequestsComeIn) {
  Configure();
  for (int round = 0; round < 20; ++round) {
    Start();
    const int port = server_->port();
    std::atomic<bool> stop{false};
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        while (!stop && HttpTestClient::IsOpen(port)) {
          HttpTestClient client(port);
          while (client.Ask("POST", "/v1/models/m:predict", R"({"instances": [1.0]})")) continue;
        }
      });
    }
    absl::SleepFor(absl::Milliseconds(5));
    server_.reset();
    stop = true;
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace
}  // namespace tessera::serving
