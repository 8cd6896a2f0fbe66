#include "serving/servables/version_metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VersionMetricsTest, CountsWhatIsAvailableAndSwaps) {
  ServableEventBus bus;
  MetricsRegistry registry;
  const VersionMetrics metrics(&bus, &registry);
  const auto publish = [&](int64_t version, State state, absl::Status health = {}) {
    bus.Publish({.id = {"m", version}, .state = state, .health = std::move(health)});
  };
  publish(1, State::kLoading);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("available_versions{model_name=\"m\"} 0"));
  publish(1, State::kAvailable);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("available_versions{model_name=\"m\"} 1"));
  EXPECT_THAT(registry.RenderMetrics(), Not(HasSubstr("version_swaps{")));  // the first is none
  publish(2, State::kLoading);
  publish(2, State::kAvailable);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("available_versions{model_name=\"m\"} 2"));
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("version_swaps{model_name=\"m\"} 1"));
  publish(1, State::kUnloading);
  publish(1, State::kEnd);
  publish(3, State::kLoading);
  publish(3, State::kEnd, absl::DataLossError("torn"));
  const std::string page = registry.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("available_versions{model_name=\"m\"} 1"));
  EXPECT_THAT(page, HasSubstr("version_swaps{model_name=\"m\"} 1"));
  EXPECT_THAT(page, HasSubstr("failed_versions{model_name=\"m\"} 1"));
}

}  // namespace
}  // namespace tessera::serving
