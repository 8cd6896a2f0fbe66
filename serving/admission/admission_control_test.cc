#include "serving/admission/admission_control.h"

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

LimitsConfig OneAtATime() {
  LimitsConfig config;
  config.set_max_concurrent_requests(1);
  return config;
}

TEST(AdmissionControlTest, OnlyConfiguredModelsHaveLimits) {
  Shares shares;
  MetricsRegistry metrics;
  AdmissionControl control(&shares, &metrics);
  EXPECT_EQ(control.Find("m"), nullptr);
  control.SetLimits({{"m", OneAtATime()}});
  ModelAdmission* const admission = control.Find("m");
  ASSERT_NE(admission, nullptr);
  EXPECT_EQ(control.Find("other"), nullptr);
  control.SetLimits({});
  EXPECT_EQ(control.Find("m"), nullptr);
  control.SetLimits({{"m", OneAtATime()}});
  EXPECT_EQ(control.Find("m"), admission) << "whose requests may still be under way";
}

TEST(AdmissionControlTest, AModelThatLosesItsLimitsRunsWhatWaits) {
  Shares shares;
  MetricsRegistry metrics;
  AdmissionControl control(&shares, &metrics);
  control.SetLimits({{"m", OneAtATime()}});
  ModelAdmission* const admission = control.Find("m");
  AdmissionTicket first, second;
  const ModelAdmission::Request request{.arrived = absl::Now()};
  EXPECT_TRUE(admission->Admit(request, &first, nullptr).value());
  bool resumed = false;
  const auto resume = [&](const absl::Status& status) { resumed = status.ok(); };
  EXPECT_FALSE(admission->Admit(request, &second, resume).value());
  const std::string page = metrics.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("limited_requests_running{model_name=\"m\"} 1"));
  EXPECT_THAT(page, HasSubstr("limited_requests_waiting{model_name=\"m\"} 1"));
  control.SetLimits({});
  EXPECT_TRUE(resumed);
  EXPECT_TRUE(second.has_value());
}

TEST(AdmissionControlTest, SharesFollowTheConfiguration) {
  Shares shares;
  MetricsRegistry metrics;
  AdmissionControl control(&shares, &metrics);
  EXPECT_EQ(control.ShareOf("m"), nullptr) << "nobody has loaded it";
  LimitsConfig config;
  config.set_share(3);
  control.SetLimits({{"m", config}});
  EXPECT_EQ(control.Find("m"), nullptr) << "a share is no limit";
  ASSERT_NE(control.ShareOf("m"), nullptr);
  EXPECT_EQ(control.ShareOf("m")->weight(), 3);
  EXPECT_EQ(control.configs().at("m").share(), 3);
  control.SetLimits({});
  EXPECT_EQ(control.ShareOf("m")->weight(), 1);
}

}  // namespace
}  // namespace tessera::serving
