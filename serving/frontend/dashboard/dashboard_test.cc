#include "serving/frontend/dashboard/dashboard.h"

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/host/pace.h"
#include "serving/frontend/admin/admin_server.h"
#include "serving/frontend/admin/testing/test_rollouts.h"
#include "serving/frontend/http/testing/http_client.h"
#include "serving/servables/servable.h"
#include "serving/servables/served_models.h"
#include "serving/servables/testing/servable_loader.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kOwnHeader[] = "X-Tessera-Admin: 1\r\n";
constexpr char kBody[] = R"({"instances": [1]})";

// Answers Predict when it is cancelled.
class StuckServable : public Servable {
 public:
  explicit StuckServable(const ServableId& id)
      : Servable({.id = id,
                  .platform = "stuck",
                  .signatures = {{"serving_default",
                                  {.inputs = {{"in", {DType::kFloat, {-1}}}},
                                   .outputs = {{"out", {DType::kFloat, {-1}}}},
                                   .method_name = std::string(kPredictMethod)}}}}) {}

  absl::Status Predict(const PredictRequest&, const CallOptions& options,
                       PredictResult*) const override {
    absl::Notification cancelled;
    CancellationManager::Token token;
    if (options.cancellation->Register([&] { cancelled.Notify(); }, &token)) {
      cancelled.WaitForNotification();
      options.cancellation->Deregister(token);
    }
    return absl::CancelledError("the server stops");
  }
};

// The dashboard on an admin address, with version 7 of a model whose requests take for ever.
class DashboardTest : public ::testing::Test {
 protected:
  ~DashboardTest() override {
    server_.reset();
    dashboard_.reset();
    handler_.reset();
    models_.reset();
    fs::remove_all(root_);
  }

  void Start(const std::string& model = "m") {
    root_ = fs::path(::testing::TempDir()) / "dashboard_test";
    fs::create_directories(root_ / "7");
    ServedModels::Options options;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.platforms["stuck"] = [](const ServableId& id,
                                    const std::string&) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<ServableLoader>(
          [id] { return std::make_unique<const StuckServable>(id); });
    };
    models_ = std::make_unique<ServedModels>(options);
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_);
    Dashboard::Options dashboard;
    dashboard.sources = {.models = models_.get(),
                         .history = &history_,
                         .metrics = &metrics_,
                         .rollouts = &rollouts_};
    dashboard.config = [] { return "port: 8500\n"; };
    dashboard_ = std::make_unique<Dashboard>(dashboard, models_.get(), &history_, handler_.get());
    auto server = AdminServer::Start({.rollouts = &rollouts_, .routes = dashboard_->AdminRoutes()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);

    tensorflow::serving::ModelServerConfig config;
    auto* entry = config.mutable_model_config_list()->add_config();
    entry->set_name(model);
    entry->set_base_path(root_.string());
    entry->set_model_platform("stuck");
    ASSERT_TRUE(models_->ApplyConfig(config).ok());
  }

  int Ask(absl::string_view method, absl::string_view target, absl::string_view body = "") {
    const auto reply = HttpTestClient(server_->port()).Ask(method, target, body, kOwnHeader);
    return reply ? reply->status : 0;
  }
  std::unique_ptr<HttpTestClient> OpenStream() {
    auto client = std::make_unique<HttpTestClient>(server_->port());
    const auto reply = client->Ask("GET", "/dashboard/api/stream");
    EXPECT_TRUE(reply && reply->status == 200);
    return client;
  }
  // Returns the first event from now on with this text in it; "" if the stream ends before.
  static std::string AwaitEvent(HttpTestClient& stream, absl::string_view text) {
    while (const auto event = stream.ReadUntil("\n\n")) {
      if (absl::StrContains(*event, text)) return *event;
    }
    return "";
  }

  fs::path root_;
  MetricsRegistry metrics_;
  Pacer pacer_;
  VersionHistory history_;
  TestRollouts rollouts_;
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<Dashboard> dashboard_;
  std::unique_ptr<AdminServer> server_;
};

TEST_F(DashboardTest, StreamsTellOfStatesAndDecisions) {
  Start();
  const auto stream = OpenStream();
  EXPECT_THAT(AwaitEvent(*stream, "AVAILABLE"),
              AllOf(HasSubstr(R"("name":"m")"), HasSubstr(R"("version":"7")"),
                    HasSubstr(R"("read_only":false)")));
  rollouts_.Set("m", 7, 8);
  rollouts_.Tell("m", "started");
  EXPECT_THAT(AwaitEvent(*stream, "candidate_version"), HasSubstr(R"("candidate_version":"8")"));
  fs::create_directories(root_ / "8");
  EXPECT_NE(AwaitEvent(*stream, R"("version":"8","state":"AVAILABLE")"), "");
}

TEST_F(DashboardTest, StuckRequestsOfFormsLeaveTheAddressToOthersAndEndWhenCancelled) {
  Start();
  const auto stream = OpenStream();
  std::vector<std::future<int>> stuck;
  for (int n = 1; n <= 2; ++n) {
    stuck.push_back(std::async(std::launch::async,
                               [this] { return Ask("POST", "/v1/models/m:predict", kBody); }));
    EXPECT_NE(AwaitEvent(*stream, absl::StrCat(R"("in_flight":)", n)), "");
  }
  EXPECT_EQ(Ask("POST", "/v1/models/m:predict", kBody), 429);
  EXPECT_EQ(Ask("GET", "/v1/models/m/metadata"), 200);
  EXPECT_EQ(Ask("GET", "/dashboard/api/config"), 200);

  dashboard_->Cancel();
  for (auto& status : stuck) EXPECT_EQ(status.get(), 499);
}

TEST_F(DashboardTest, StreamsEndWithTheServer) {
  Start();
  const auto stream = OpenStream();
  EXPECT_NE(AwaitEvent(*stream, "AVAILABLE"), "");
  server_->Shutdown(absl::InfiniteFuture());
  EXPECT_TRUE(stream->WaitForEnd());
}

TEST_F(DashboardTest, TooManyVersionsAreAnErrorOnTheStream) {
  Start(std::string(1 << 20, 'x'));
  const auto stream = OpenStream();
  EXPECT_NE(AwaitEvent(*stream, R"(data: {"error": "this server has more versions)"), "");
}

}  // namespace
}  // namespace tessera::serving
