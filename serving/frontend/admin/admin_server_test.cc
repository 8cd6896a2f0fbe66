#include "serving/frontend/admin/admin_server.h"

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/frontend/admin/testing/test_rollouts.h"
#include "serving/frontend/http/testing/http_client.h"
#include "tessera/admin.grpc.pb.h"

namespace tessera::serving {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kOwnHeader[] = "X-Tessera-Admin: 1\r\n";
constexpr char kToken[] = "Authorization: Bearer secret\r\n";

// Model `m` is at version 3 and tries 4; `idle` is at 1.
class AdminServerTest : public ::testing::Test {
 protected:
  AdminServerTest() {
    rollouts_.Set("m", 3, 4);
    rollouts_.Set("idle", 1, 0);
  }

  void Start() {
    options_.rollouts = &rollouts_;
    auto server = AdminServer::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = tessera::AdminService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
  }
  void StartWithToken() {
    WriteTokens("secret\n");
    options_.token_file = token_file_;
    Start();
  }
  void WriteTokens(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(token_file_, text).ok());
  }

  HttpTestClient::Reply Ask(absl::string_view method, absl::string_view target,
                            absl::string_view body = "", absl::string_view headers = "") {
    const auto reply = HttpTestClient(server_->port()).Ask(method, target, body, headers);
    EXPECT_TRUE(reply.has_value()) << target;
    return reply.value_or(HttpTestClient::Reply());
  }
  // Returns a client that gets the events from now on.
  std::unique_ptr<HttpTestClient> Watch(absl::string_view query = "",
                                        absl::string_view headers = "") {
    auto client = std::make_unique<HttpTestClient>(server_->port());
    const auto head = client->Ask("GET", absl::StrCat("/admin/v1/events", query), "", headers);
    EXPECT_TRUE(head.has_value() && head->status == 200);
    EXPECT_EQ(head->headers.at("content-type"), "text/event-stream");
    EXPECT_EQ(client->ReadUntil("\n\n"), "retry: 2000\n\n");
    return client;
  }
  // Returns a client that is one of the watchers.
  std::unique_ptr<HttpTestClient> WatchBegun(absl::string_view headers = "") {
    auto client = Watch("", headers);
    EXPECT_EQ(client->ReadUntil("\n\n"), ": heartbeat\n\n");
    return client;
  }
  static std::string IdOf(const std::string& event) {
    return event.substr(4, event.find('\n') - 4);  // after "id: "
  }

  const std::string token_file_ = JoinPath(::testing::TempDir(), "server_tokens");
  TestRollouts rollouts_;
  AdminServer::Options options_{.heartbeat = absl::Milliseconds(5)};
  std::unique_ptr<AdminServer> server_;
  std::unique_ptr<tessera::AdminService::Stub> stub_;
};

TEST_F(AdminServerTest, OnePortHasBothProtocols) {
  Start();
  EXPECT_THAT(Ask("GET", "/admin/v1/rollouts").body, HasSubstr("\"model\": \"m\""));
  grpc::ClientContext context;
  ListRolloutsResponse response;
  ASSERT_TRUE(stub_->ListRollouts(&context, {}, &response).ok());
  ASSERT_EQ(response.rollouts_size(), 2);
  EXPECT_EQ(response.rollouts(1).candidate_version(), 4);
}

TEST_F(AdminServerTest, RestShowsRollouts) {
  Start();
  const auto reply = Ask("GET", "/admin/v1/rollouts/m");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
  EXPECT_EQ(reply.headers.at("x-frame-options"), "DENY");
  EXPECT_THAT(reply.body, AllOf(HasSubstr("\"stable_version\": \"3\""),
                                HasSubstr("\"previous_version\": \"0\""),
                                HasSubstr("\"phase\": \"ROLLOUT_STEP\"")));
  EXPECT_EQ(Ask("GET", "/admin/v1/rollouts/%6d").status, 200);
}

TEST_F(AdminServerTest, RestActs) {
  Start();
  EXPECT_THAT(Ask("POST", "/admin/v1/rollouts/m:pause", "", kOwnHeader).body,
              HasSubstr("ROLLOUT_PAUSED"));
  EXPECT_THAT(Ask("POST", "/admin/v1/rollouts/m:resume", "{}", kOwnHeader).body,
              HasSubstr("ROLLOUT_STEP"));
  EXPECT_EQ(Ask("POST", "/admin/v1/rollouts/m:promote", "{\"version\": 9}", kOwnHeader).status,
            409);
  EXPECT_EQ(Ask("POST", "/admin/v1/rollouts/m:promote", "{\"version\": 4}", kOwnHeader).status,
            200);
  EXPECT_EQ(rollouts_.StatusOf("m")->stable_version(), 4);
  // The version is gone.
  const auto gone =
      Ask("POST", "/admin/v1/rollouts/m:rollback", "{\"version\": \"4\"}", kOwnHeader);
  EXPECT_EQ(gone.status, 409);
  EXPECT_THAT(gone.body, StartsWith("{\n    \"error\": \""));
}

TEST_F(AdminServerTest, RefusesByTheHeadAlone) {
  StartWithToken();
  const auto status_of = [&](const std::string& head) {
    HttpTestClient client(server_->port());
    EXPECT_TRUE(client.Send(head + "\r\n"));  // and never the body
    const auto reply = client.Read();
    EXPECT_TRUE(client.WaitForEnd());
    return reply ? reply->status : 0;
  };
  const std::string pause = "POST /admin/v1/rollouts/m:pause HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status_of(pause + "Content-Length: 1000\r\n"), 401);
  EXPECT_EQ(status_of(pause + kToken + "Content-Length: 65537\r\n"), 413);
  EXPECT_EQ(status_of(std::string("POST /none HTTP/1.1\r\n") + kToken + "Content-Length: 9\r\n"),
            404);
  EXPECT_EQ(rollouts_.StatusOf("m")->phase(), ROLLOUT_STEP);
}

TEST_F(AdminServerTest, RestRefusesWhatItDoesNotKnow) {
  Start();
  struct Case {
    const char* method;
    const char* target;
    const char* body;
    int status;
  };
  constexpr Case kCases[] = {
      {"GET", "/admin/v1/rollouts/absent", "", 404},
      {"POST", "/admin/v1/rollouts/absent:pause", "", 404},
      {"POST", "/admin/v1/rollouts/m:explode", "", 404},
      {"POST", "/admin/v1/rollouts/m", "", 404},
      {"POST", "/admin/v1/rollouts/:pause", "", 400},
      {"POST", "/admin/v1/rollouts/m:pause", "{", 400},
      {"POST", "/admin/v1/rollouts/m:pause", "[4]", 400},
      {"POST", "/admin/v1/rollouts/m:pause", "{\"version\": -1}", 400},
      {"POST", "/admin/v1/rollouts/m:pause", "{\"version\": \"four\"}", 400},
      {"POST", "/admin/v1/rollouts/m:pause", "{\"verson\": 4}", 400},
      {"POST", "/admin/v1/rollouts/m:pause", "{\"model\": \"idle\"}", 400},
      {"POST", "/admin/v1/rollouts", "", 405},
      {"DELETE", "/admin/v1/rollouts/m", "", 405},
      {"GET", "/admin/v1/rollouts/", "", 404},
      {"GET", "/admin/v1/rollouts/../../../etc/passwd", "", 404},
      {"GET", "/", "", 404},
      {"GET", "*", "", 404},
  };
  for (const Case& c : kCases) {
    const auto reply = Ask(c.method, c.target, c.body, kOwnHeader);
    EXPECT_EQ(reply.status, c.status) << c.method << " " << c.target << " " << c.body;
    EXPECT_THAT(reply.body, StartsWith("{\n    \"error\": \""));
  }
  EXPECT_EQ(Ask("DELETE", "/admin/v1/rollouts/m", "", kOwnHeader).headers.at("allow"),
            "GET, HEAD, POST");
  const std::string nested(60'000, '[');
  EXPECT_EQ(Ask("POST", "/admin/v1/rollouts/m:pause", nested, kOwnHeader).status, 400);
  EXPECT_EQ(rollouts_.StatusOf("m")->phase(), ROLLOUT_STEP);
}

TEST_F(AdminServerTest, WithoutRolloutsThereAreNone) {
  server_ = *AdminServer::Start({});
  EXPECT_EQ(Ask("GET", "/admin/v1/rollouts").body, "{\n \"rollouts\": []\n}\n");
  EXPECT_EQ(Ask("GET", "/admin/v1/rollouts/m").status, 404);
  EXPECT_EQ(Ask("POST", "/admin/v1/rollouts/m:pause", "", kOwnHeader).status, 404);
}

TEST_F(AdminServerTest, TheTokenIsNeededByBothProtocols) {
  StartWithToken();
  const auto refused = Ask("GET", "/admin/v1/rollouts", "", kOwnHeader);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer realm=\"tessera\"");
  EXPECT_EQ(Ask("GET", "/no/such/path").status, 401);
  EXPECT_EQ(Ask("GET", "/admin/v1/events").status, 401);
  EXPECT_EQ(Ask("GET", "/admin/v1/rollouts", "", kToken).status, 200);
  EXPECT_EQ(Ask("POST", "/admin/v1/rollouts/m:pause", "", kToken).status, 200);

  RolloutStatus status;
  RolloutRequest request;
  request.set_model("m");
  {
    grpc::ClientContext context;
    EXPECT_EQ(stub_->Promote(&context, request, &status).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
  {
    grpc::ClientContext context;
    RolloutEvent event;
    auto reader = stub_->WatchEvents(&context, {});
    EXPECT_FALSE(reader->Read(&event));
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer secret");
  EXPECT_TRUE(stub_->Promote(&context, request, &status).ok());
  EXPECT_EQ(status.stable_version(), 4);
}

TEST_F(AdminServerTest, FurtherRoutesAreGuardedUnlessTheyArePublic) {
  options_.routes = {
      {"GET", "/page", [](const HttpRequest&) { return HttpReply{.body = "page"}; },
       HttpRoute::kPublic},
      {"GET", "/data", [](const HttpRequest&) { return HttpReply{.body = "data"}; }},
  };
  StartWithToken();
  EXPECT_EQ(Ask("GET", "/page").body, "page");
  EXPECT_EQ(Ask("GET", "/page?x").headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(Ask("GET", "/data").status, 401);
  EXPECT_EQ(Ask("GET", "/data", "", kToken).body, "data");
}

TEST_F(AdminServerTest, GrpcHasTheCodesOfTheContract) {
  Start();
  RolloutRequest request;
  RolloutStatus status;
  const auto code_of = [&](auto call) {
    grpc::ClientContext context;
    return (stub_.get()->*call)(&context, request, &status).error_code();
  };
  using Stub = tessera::AdminService::Stub;
  EXPECT_EQ(code_of(&Stub::GetRollout), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_model("absent");
  EXPECT_EQ(code_of(&Stub::GetRollout), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code_of(&Stub::Resume), grpc::StatusCode::NOT_FOUND);
  request.set_model("idle");
  EXPECT_EQ(code_of(&Stub::Rollback), grpc::StatusCode::FAILED_PRECONDITION);
  request.set_model("m");
  request.set_version(-4);
  EXPECT_EQ(code_of(&Stub::Pause), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_version(4);
  EXPECT_EQ(code_of(&Stub::Pause), grpc::StatusCode::OK);
  EXPECT_EQ(status.phase(), ROLLOUT_PAUSED);
}

TEST_F(AdminServerTest, EventsAreStreamed) {
  Start();
  const auto all = Watch();
  const auto of_idle = Watch("?model=idle");
  rollouts_.Tell("m", "started");
  rollouts_.Tell("idle", "held");
  EXPECT_THAT(*all->ReadUntil("}\n\n"),
              AllOf(HasSubstr("\nevent: rollout\ndata: {\"model\":\"m\",\"kind\":\"started\","),
                    HasSubstr("\"version\":\"4\"")));
  EXPECT_THAT(*all->ReadUntil("}\n\n"), HasSubstr("\"kind\":\"held\""));
  EXPECT_THAT(*of_idle->ReadUntil("}\n\n"), HasSubstr("\"model\":\"idle\",\"kind\":\"held\""));
}

TEST_F(AdminServerTest, AWatcherThatComesAgainGetsWhatItMissed) {
  options_.heartbeat = absl::InfiniteDuration();
  rollouts_.Tell("m", "before");
  Start();
  rollouts_.Tell("m", "started");
  rollouts_.Tell("m", "step");
  auto client = Watch("?since_start=true");
  EXPECT_THAT(*client->ReadUntil("\n\n"), HasSubstr("\"before\""));
  const std::string id = IdOf(*client->ReadUntil("\n\n"));
  client = Watch("", absl::StrCat("Last-Event-ID: ", id, "\r\n"));
  EXPECT_THAT(*client->ReadUntil("\n\n"), HasSubstr("\"step\""));
  // Numbers of another life of the server tell nothing.
  for (const char* other : {"abc-2", "-1", "2", "x"}) {
    client = Watch("", absl::StrCat("Last-Event-ID: ", other, "\r\n"));
    EXPECT_THAT(*client->ReadUntil("\n\n"), HasSubstr("\"before\"")) << other;
  }
}

TEST_F(AdminServerTest, GrpcStreamsEvents) {
  Start();
  rollouts_.Tell("m", "started");
  rollouts_.Tell("idle", "held");
  grpc::ClientContext context;
  WatchEventsRequest request;
  request.set_since_start(true);
  request.set_model("m");
  auto reader = stub_->WatchEvents(&context, request);
  RolloutEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), "started");
  rollouts_.Tell("m", "step");
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), "step");
  server_->Shutdown(absl::InfiniteFuture());
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AdminServerTest, GrpcTellsLaterEventsOnceItsMetadataHasCome) {
  Start();
  rollouts_.Tell("m", "before");
  grpc::ClientContext context;
  auto reader = stub_->WatchEvents(&context, {});
  reader->WaitForInitialMetadata();
  rollouts_.Tell("m", "later");
  RolloutEvent event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), "later");
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(AdminServerTest, ATokenTakenBackEndsItsWatches) {
  StartWithToken();
  const auto client = WatchBegun(kToken);
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer secret");
  auto reader = stub_->WatchEvents(&context, {});
  reader->WaitForInitialMetadata();
  WriteTokens("another\n");
  EXPECT_TRUE(client->WaitForEnd());
  RolloutEvent event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(AdminServerTest, TooManyWatchersAreRefused) {
  Start();
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  for (int i = 0; i < 256; ++i) clients.push_back(WatchBegun());
  EXPECT_EQ(Ask("GET", "/admin/v1/events").status, 429);
  EXPECT_EQ(Ask("GET", "/admin/v1/rollouts").status, 200);
  clients.pop_back();  // noticed at a heartbeat
  while (Ask("HEAD", "/admin/v1/events").status == 429) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(AdminServerTest, ShutdownEndsWatches) {
  Start();
  const auto client = WatchBegun();
  HttpTestClient idle(server_->port());
  server_->Shutdown(absl::InfiniteFuture());
  EXPECT_TRUE(client->WaitForEnd());
  EXPECT_TRUE(idle.WaitForEnd());
  EXPECT_FALSE(HttpTestClient::IsOpen(server_->port()));
}

TEST_F(AdminServerTest, SilentGrpcClientHoldsUpNoShutdown) {
  Start();
  HttpTestClient silent(server_->port());
  silent.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_TRUE(silent.ReadUntil(std::string(4, '\0')).has_value());  // gRPC has sent its settings
  server_->Shutdown(absl::InfiniteFuture());
}

TEST_F(AdminServerTest, BrokenHttp2EndsAlone) {
  Start();
  HttpTestClient broken(server_->port());
  broken.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nthis is no frame at all, and a long one");
  EXPECT_TRUE(broken.WaitForEnd());
  HttpTestClient cut(server_->port());
  cut.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  cut.CloseSending();
  EXPECT_TRUE(cut.WaitForEnd());
  EXPECT_EQ(Ask("GET", "/admin/v1/rollouts").status, 200);
}

TEST_F(AdminServerTest, ATakenPortIsAnError) {
  Start();
  options_.port = server_->port();
  EXPECT_TRUE(absl::IsUnavailable(AdminServer::Start(options_).status()));
  options_.port = 0;
  options_.address = "0.0.0.0";
  EXPECT_TRUE(absl::IsInvalidArgument(AdminServer::Start(options_).status()));
}

}  // namespace
}  // namespace tessera::serving
