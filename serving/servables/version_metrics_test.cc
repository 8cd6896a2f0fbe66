#include "serving/servables/version_metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VersionMetricsTest, CountsSwapsAndFailures) {
  ServableEventBus bus;
  MetricsRegistry registry;
  const VersionMetrics metrics(&bus, &registry);
  const auto publish = [&](int64_t version, State state, absl::Status health = {}) {
    bus.Publish({.id = {"m", version}, .state = state, .health = std::move(health)});
  };
  publish(1, State::kLoading);
  publish(1, State::kAvailable);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("version_swaps{model_name=\"m\"} 0"))
      << "the first is none";
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("failed_versions{model_name=\"m\"} 0"));
  publish(2, State::kLoading);
  publish(2, State::kAvailable);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr("version_swaps{model_name=\"m\"} 1"));
  publish(1, State::kUnloading);
  publish(1, State::kEnd);
  publish(3, State::kLoading);
  publish(3, State::kEnd, absl::DataLossError("torn"));
  const std::string page = registry.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("version_swaps{model_name=\"m\"} 1"));
  EXPECT_THAT(page, HasSubstr("failed_versions{model_name=\"m\"} 1"));
}

TEST(VersionMetricsTest, AvailableVersionsAreThoseOfModelsThereAreNow) {
  MetricsRegistry registry;
  std::map<std::string, int64_t> counts = {{"m", 2}, {"n", 0}};
  const auto available = CollectAvailableVersions([&] { return counts; }, &registry);
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :tessera:serving:available_versions gauge\n"
            ":tessera:serving:available_versions{model_name=\"m\"} 2\n"
            ":tessera:serving:available_versions{model_name=\"n\"} 0\n");
  counts.erase("n");
  EXPECT_THAT(registry.RenderMetrics(), Not(HasSubstr("\"n\"")));
}

TEST(VersionMetricsTest, MemoryIsThatOfVersionsThereAreNow) {
  MetricsRegistry registry;
  std::map<ServableId, MemoryEstimate> in_use = {{{"m", 9}, {.mapped = 500, .heap = 20}}};
  const auto memory = CollectVersionMemory([&] { return in_use; }, &registry);
  EXPECT_EQ(
      registry.RenderMetrics(),
      "# TYPE :tessera:serving:version_memory_bytes gauge\n"
      ":tessera:serving:version_memory_bytes{model_name=\"m\",version=\"9\",kind=\"heap\"} 20\n"
      ":tessera:serving:version_memory_bytes{model_name=\"m\",version=\"9\",kind=\"mapped\"} "
      "500\n");
  in_use.clear();
  EXPECT_THAT(registry.RenderMetrics(), Not(HasSubstr("version_memory_bytes{")));
}

}  // namespace
}  // namespace tessera::serving
