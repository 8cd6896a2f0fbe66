#include "serving/servables/saved_model/run_metrics.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/servables/saved_model/testing/linear_session.h"

namespace tessera::serving {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunMetricsTest, HasTheMetricsOfTensorFlowsLibrary) {
  MetricsRegistry registry;
  const RunMetrics metrics(&registry);
  const std::string page = registry.RenderMetrics();
  const absl::StatusOr<std::string> recorded = ReadFile("tests/data/tfserving/metrics.txt");
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  std::istringstream lines(*recorded);
  int num_metrics = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(std::min<size_t>(line.size(), 2)));
    std::string name, type;
    // Those of requests and batches are added by who counts them.
    if (!(words >> name >> type) || !absl::StartsWith(name, ":") ||
        absl::StartsWith(name, ":tensorflow:serving:")) {
      continue;
    }
    ++num_metrics;
    EXPECT_THAT(page, HasSubstr(absl::StrCat("# TYPE ", name, " ", type, "\n")));
  }
  EXPECT_GT(num_metrics, 100);
}

TEST(RunMetricsTest, CountsRuns) {
  MetricsRegistry registry;
  RunMetrics metrics(&registry);
  LinearSessionLog log;
  const auto session = MakeLinearSession(&log);
  const auto callable =
      metrics.Meter(*session->MakeCallable({.feeds = {"x:0"}, .fetches = {"y:0", "z:0"}}));
  const Tensor fed = Tensor::Vector<float>({1, 2, 3});
  std::vector<Tensor> fetches;
  ASSERT_TRUE(callable->Run({}, absl::MakeConstSpan(&fed, 1), &fetches).ok());
  const Tensor wrong = Tensor::Vector<int32_t>({1});
  EXPECT_FALSE(callable->Run({}, absl::MakeConstSpan(&wrong, 1), &fetches).ok());
  const std::string page = registry.RenderMetrics();
  const std::string core = ":tensorflow:core:";
  EXPECT_THAT(page, AllOf(HasSubstr(core + "graph_runs{} 1\n"),
                          HasSubstr(core + "direct_session_runs{} 2\n"),
                          HasSubstr(core + "graph_build_calls{} 1\n"),
                          HasSubstr(core + "graph_run_time_usecs_histogram_count{} 1\n"),
                          HasSubstr(core + "graph_run_input_tensor_bytes_sum{} 12\n"),
                          HasSubstr(core + "graph_run_output_tensor_bytes_sum{} 24\n")));
}

TEST(RunMetricsTest, CountsLoadsByStage) {
  MetricsRegistry registry;
  RunMetrics metrics(&registry);
  const std::string core = ":tensorflow:core:", load = ":tensorflow:cc:saved_model:load_";
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr(core + "session_created{} 0\n"));
  LinearSessionLog log;
  absl::StatusOr<SavedModelBundle> bundle = MakeLinearBundle(&log);
  bundle->stages = {{"import", absl::Microseconds(3)},
                    {"restore_graph", absl::Microseconds(20)},
                    {"compile", absl::Microseconds(4)}};
  metrics.RecordLoad("/m/1", bundle, absl::Microseconds(100));
  metrics.RecordLoad("/m/2", absl::DataLossError("torn"), absl::Microseconds(100));
  const std::string page = registry.RenderMetrics();
  EXPECT_THAT(
      page,
      AllOf(HasSubstr(load + "attempt_count{model_path=\"/m/1\",status=\"success\"} 1\n"),
            HasSubstr(load + "attempt_count{model_path=\"/m/2\",status=\"fail\"} 1\n"),
            HasSubstr(load + "latency{model_path=\"/m/1\"} 100\n"),
            HasSubstr(load +
                      "latency_by_stage_sum{model_path=\"/m/1\",stage=\"restore_graph\"} 20\n"),
            HasSubstr(":tessera:serving:load_latency_by_stage_sum{stage=\"import\"} 3\n"),
            HasSubstr(core + "graph_build_time_usecs{} 7\n"),
            HasSubstr(core + "session_created{} 1\n"),
            HasSubstr(core + "saved_model:read:api{api_label=\"cc_load\"} 1\n"),
            HasSubstr(core + "saved_model:read:count{write_version=\"1\"} 1\n"),
            HasSubstr(core + "saved_model:read:path{} 0\n"),
            HasSubstr(load + "latency_by_stage_sum{model_path=\"/m/1\",stage=\"init_graph\"} 0\n"),
            Not(HasSubstr("latency_by_stage_sum{stage=\"init_graph\"}"))));
}

}  // namespace
}  // namespace tessera::serving
