#include "serving/rollout/rollout_routes.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serving/rollout/traffic_share.h"

namespace tessera::serving {
namespace {

constexpr int kRequests = 20000;

std::optional<absl::string_view> NoKeys(absl::string_view) {
  ADD_FAILURE() << "the keys are asked for";
  return std::nullopt;
}

// Routes model "m": version 1 is stable, version 2 has the share.
void Route(RolloutRoutes& routes, double share, std::string sticky_key = "") {
  routes.Publish({{"m",
                   {.stable = 1,
                    .candidate = share > 0 ? 2 : 0,
                    .share = share,
                    .sticky_key = std::move(sticky_key)}}});
}

TEST(RolloutRoutesTest, ModelsWithoutARolloutAreLeftAlone) {
  RolloutRoutes routes;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(routes.Choose("other", NoKeys), std::nullopt);
    EXPECT_EQ(routes.VersionOfLabel("other", "stable"), std::nullopt);
    EXPECT_EQ(routes.InterestIn({"other", 1}), TrafficRouter::Interest::kNone);
    Route(routes, 0.5);
  }
  routes.Publish({{"empty", {}}});
  EXPECT_EQ(routes.Choose("empty", NoKeys), std::nullopt) << "it has no version yet";
}

TEST(RolloutRoutesTest, RequestsAreDrawnByTheShare) {
  RolloutRoutes routes;
  for (const double share : {0.0, 0.01, 0.5, 1.0}) {
    Route(routes, share);
    int chosen = 0;
    for (int i = 0; i < kRequests; ++i) chosen += routes.Choose("m", NoKeys) == 2;
    // Seven standard deviations.
    const double deviation = std::sqrt(share * (1 - share) * kRequests);
    EXPECT_NEAR(chosen, share * kRequests, 7 * deviation) << share;
  }
}

TEST(RolloutRoutesTest, AClientStaysOnTheCandidateAsItsShareRises) {
  RolloutRoutes routes;
  std::vector<bool> had(kRequests);
  for (const double share : {0.01, 0.1, 0.5, 1.0}) {
    Route(routes, share, "x-user");
    int chosen = 0;
    for (int i = 0; i < kRequests; ++i) {
      const std::string user = absl::StrCat("user", i);
      auto keys = [&](absl::string_view name) -> std::optional<absl::string_view> {
        EXPECT_EQ(name, "x-user");
        return user;
      };
      const bool has = routes.Choose("m", keys) == 2;
      EXPECT_EQ(routes.Choose("m", keys) == 2, has);
      EXPECT_TRUE(has || !had[i]) << user << " at " << share;
      had[i] = has;
      chosen += has;
    }
    EXPECT_NEAR(chosen, share * kRequests, 7 * std::sqrt(share * (1 - share) * kRequests)) << share;
  }
}

TEST(RolloutRoutesTest, RequestsWithoutTheKeyAreDrawn) {
  RolloutRoutes routes;
  Route(routes, 0.5, "x-user");
  auto keys = [](absl::string_view) { return std::optional<absl::string_view>(); };
  int chosen = 0;
  for (int i = 0; i < 1000; ++i) chosen += routes.Choose("m", keys) == 2;
  EXPECT_GT(chosen, 300);
  EXPECT_LT(chosen, 700);
}

TEST(RolloutRoutesTest, PositionsAreTheSameInEveryProcess) {
  EXPECT_DOUBLE_EQ(StickyPosition("m", "user1"),
                   PositionOf(StableHash(StableHash(0, "m"), "user1")));
  EXPECT_EQ(StableHash(0, "m"), 4551892795139528557u);
  EXPECT_NE(StickyPosition("m", "user1"), StickyPosition("n", "user1"));
}

TEST(RolloutRoutesTest, LabelsFollow) {
  RolloutRoutes routes;
  Route(routes, 0);
  EXPECT_EQ(routes.VersionOfLabel("m", "stable"), 1);
  EXPECT_EQ(routes.VersionOfLabel("m", "canary"), 1);
  Route(routes, 0.01);
  EXPECT_EQ(routes.VersionOfLabel("m", "stable"), 1);
  EXPECT_EQ(routes.VersionOfLabel("m", "canary"), 2);
  EXPECT_EQ(routes.VersionOfLabel("m", "latest"), std::nullopt);
}

TEST(RolloutRoutesTest, TheStableVersionIsAskedWhatOthersFailed) {
  RolloutRoutes routes;
  EXPECT_EQ(routes.FallbackFor({"m", 2}), std::nullopt);
  RolloutRoutes::Route route{.stable = 1, .candidate = 2, .share = 0.5, .retries_on_stable = true};
  routes.Publish({{"m", route}});
  EXPECT_EQ(routes.FallbackFor({"m", 2}), 1);
  EXPECT_EQ(routes.FallbackFor({"m", 1}), std::nullopt);
  EXPECT_EQ(routes.FallbackFor({"n", 2}), std::nullopt);
  route.candidate = 0;
  routes.Publish({{"m", route}});
  EXPECT_EQ(routes.FallbackFor({"m", 2}), 1) << "it was taken back while the request ran";
  route.retries_on_stable = false;
  routes.Publish({{"m", route}});
  EXPECT_EQ(routes.FallbackFor({"m", 2}), std::nullopt);
}

TEST(RolloutRoutesTest, AnswersAreRecordedWhileACandidateIsTried) {
  RolloutRoutes routes;
  RolloutRoutes::Route route{.stable = 1, .candidate = 2, .share = 0.5};
  routes.Publish({{"m", route}});
  EXPECT_EQ(routes.InterestIn({"m", 1}), TrafficRouter::Interest::kNone);
  route.live = std::make_shared<VersionMeasurer>(absl::Minutes(1), "");
  route.tried = std::make_shared<VersionMeasurer>(absl::Minutes(1), "");
  routes.Publish({{"m", route}});
  for (const int64_t version : {1, 2, 2, 3}) {
    const ServableId id{"m", version};
    EXPECT_EQ(routes.InterestIn(id),
              version == 3 ? TrafficRouter::Interest::kNone : TrafficRouter::Interest::kAnswers);
    const absl::Status status = version == 2 ? absl::InternalError("broken") : absl::OkStatus();
    routes.Observe({.id = id,
                    .signature_name = "",
                    .input_names = {},
                    .inputs = {},
                    .output_filter = {},
                    .status = status,
                    .latency = absl::Milliseconds(1),
                    .outputs = {}});
  }
  EXPECT_EQ(route.live->Measures(absl::Now()).requests(), 1);
  EXPECT_EQ(route.live->Measures(absl::Now()).errors(), 0);
  EXPECT_EQ(route.tried->Measures(absl::Now()).requests(), 2);
  EXPECT_EQ(route.tried->Measures(absl::Now()).errors(), 2);
}

}  // namespace
}  // namespace tessera::serving
