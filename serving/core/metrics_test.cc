#include "serving/core/metrics.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int NumLines(absl::string_view page) {
  return static_cast<int>(std::count(page.begin(), page.end(), '\n'));
}

TEST(MetricsTest, PageHasTensorFlowServingsForm) {
  MetricsRegistry registry;
  registry.AddCounter("/tensorflow/serving/request_count", {"model_name", "status"})
      ->Get({"m\"1\\", "OK"})
      .Increment(3);
  registry.AddGauge("/tensorflow/core/session_created", {})->Get({}).Set(1);
  registry.AddCounter("/tensorflow/serving/request_log_count", {"model_name"});

  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :tensorflow:core:session_created gauge\n"
            ":tensorflow:core:session_created{} 1\n"
            "# TYPE :tensorflow:serving:request_count counter\n"
            ":tensorflow:serving:request_count{model_name=\"m\\\"1\\\\\",status=\"OK\"} 3\n"
            "# TYPE :tensorflow:serving:request_log_count counter\n");
}

TEST(MetricsTest, NoLabelValueBreaksThePage) {
  MetricsRegistry registry;
  CounterFamily* requests = registry.AddCounter("/r", {"model"});
  const auto line_for = [&](absl::string_view value) {
    requests->Get({value});
    const std::string page = registry.RenderMetrics();
    return page.substr(page.rfind("model=") + 6);
  };
  EXPECT_EQ(line_for("a\nb{} 7"), "\"a\\nb{} 7\"} 0\n");
  EXPECT_EQ(line_for("gr\u00f6\u00dfe \u4e16 \U0001f600"),
            "\"gr\u00f6\u00dfe \u4e16 \U0001f600\"} 0\n");
  // Alone, cut short, spelt too long, a surrogate, beyond the last character.
  EXPECT_EQ(line_for("h\x80"), "\"h\\\\x80\"} 0\n");
  EXPECT_EQ(line_for("i\xe4\xb8"), "\"i\\\\xe4\\\\xb8\"} 0\n");
  EXPECT_EQ(line_for("j\xc1\xa1"), "\"j\\\\xc1\\\\xa1\"} 0\n");
  EXPECT_EQ(line_for("k\xed\xa0\x80"), "\"k\\\\xed\\\\xa0\\\\x80\"} 0\n");
  EXPECT_EQ(line_for("l\xf4\x90\x80\x80"), "\"l\\\\xf4\\\\x90\\\\x80\\\\x80\"} 0\n");
}

TEST(MetricsTest, CollectedGaugeShowsWhatThereIsNow) {
  MetricsRegistry registry;
  std::vector<MetricsRegistry::Sample> samples = {{{"a\"", "1"}, 7}, {{"b", "10"}, 8}};
  auto collection =
      registry.CollectGauge("/tessera/memory", {"model", "version"}, [&] { return samples; });
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :tessera:memory gauge\n"
            ":tessera:memory{model=\"a\\\"\",version=\"1\"} 7\n"
            ":tessera:memory{model=\"b\",version=\"10\"} 8\n");
  samples.pop_back();
  EXPECT_THAT(registry.RenderMetrics(), Not(HasSubstr("\"b\"")));
  collection.reset();
  EXPECT_EQ(registry.RenderMetrics(), "# TYPE :tessera:memory gauge\n");
}

TEST(MetricsTest, HistogramBucketsAreCumulativeAndOpenAtTheTop) {
  MetricsRegistry registry;
  HistogramFamily* family = registry.AddHistogram("/h", {"model"}, ExponentialBounds(10, 1.8, 3));
  Histogram& cell = family->Get({"a"});
  cell.Record(1);
  cell.Record(18);  // a bound belongs to the bucket above it
  cell.Record(1e9);

  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :h histogram\n"
            ":h_bucket{model=\"a\",le=\"10\"} 1\n"
            ":h_bucket{model=\"a\",le=\"18\"} 1\n"
            ":h_bucket{model=\"a\",le=\"32.4\"} 2\n"
            ":h_bucket{model=\"a\",le=\"+Inf\"} 3\n"
            ":h_sum{model=\"a\"} 1e+09\n"
            ":h_count{model=\"a\"} 3\n");
}

TEST(MetricsTest, LabelsAndCellsAreInTheirOwnOrderNotTheLibrarys) {
  MetricsRegistry registry;
  GaugeFamily* family = registry.AddGauge("/g", {"model", "API"});
  family->Get({"b", "x"}).Set(1);
  family->Get({"a", "z"}).Set(2);
  family->Get({"a", "y"}).Set(3);
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :g gauge\n"
            ":g{model=\"a\",API=\"y\"} 3\n"
            ":g{model=\"a\",API=\"z\"} 2\n"
            ":g{model=\"b\",API=\"x\"} 1\n");
}

TEST(MetricsTest, LargeCountsKeepAllTheirDigits) {
  MetricsRegistry registry;
  registry.AddCounter("/c", {})->Get({}).Increment(123'456'789'012'345);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr(":c{} 123456789012345\n"));
}

TEST(MetricsTest, SamplesOfAllThreadsAreOnThePagesOnce) {
  MetricsRegistry registry;
  Histogram& cell = registry.AddHistogram("/h", {}, {1.0})->Get({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cell] {
      for (int i = 0; i < 1000; ++i) cell.Record(i % 2);
    });
  }
  for (int i = 0; i < 20; ++i) registry.RenderMetrics();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :h histogram\n"
            ":h_bucket{le=\"1\"} 2000\n"
            ":h_bucket{le=\"+Inf\"} 4000\n"
            ":h_sum{} 2000\n"
            ":h_count{} 4000\n");
}

TEST(MetricsTest, HistogramWithoutLabelsHasOnlyTheBound) {
  MetricsRegistry registry;
  registry.AddHistogram("/h", {}, {1.0})->Get({}).Record(0.5);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr(":h_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr(":h_sum{} 0.5\n"));
}

TEST(MetricsTest, LatencyBoundsPrintAsUpstreams) {
  MetricsRegistry registry;
  registry.AddHistogram("/l", {}, ExponentialBounds(10, 1.8, 33))->Get({}).Record(1);
  const std::string page = registry.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("le=\"104.976\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("le=\"1.27482e+06\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("le=\"1.47476e+09\"} 1\n"));
}

TEST(MetricsTest, SameLabelsGiveTheSameCellFromAllThreads) {
  MetricsRegistry registry;
  CounterFamily* family = registry.AddCounter("/c", {"k"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([family] {
      for (int i = 0; i < 2000; ++i) family->Get({absl::StrCat("v", i % 100)}).Increment();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(family->Get({absl::StrCat("v", i)}).Value(), 80);
  }
  EXPECT_EQ(NumLines(registry.RenderMetrics()), 101) << "of the type and of each cell";
}

TEST(MetricsTest, EndlessLabelValuesShareOneCell) {
  MetricsRegistry registry;
  CounterFamily* family = registry.AddCounter("/c", {"model_name", "status"});
  for (int i = 0; i < CounterFamily::kMaxCells + 10; ++i) {
    family->Get({absl::StrCat("nobody", i), "NOT_FOUND"}).Increment();
  }
  EXPECT_EQ(NumLines(registry.RenderMetrics()), 1 + CounterFamily::kMaxCells + 1);
  EXPECT_EQ(family->Get({"other", "other"}).Value(), 10);
}

TEST(MetricsTest, LongLabelValuesShareOneCell) {
  MetricsRegistry registry;
  CounterFamily* family = registry.AddCounter("/c", {"model_name", "status"});
  for (const char c : {'a', 'b', 'c'}) {
    family->Get({std::string(CounterFamily::kMaxValueBytes + 1, c), "NOT_FOUND"}).Increment();
  }
  family->Get({std::string(CounterFamily::kMaxValueBytes, 'd'), "NOT_FOUND"}).Increment();
  EXPECT_EQ(family->Get({"other", "NOT_FOUND"}).Value(), 3);
  EXPECT_EQ(NumLines(registry.RenderMetrics()), 1 + 2);
}

TEST(MetricsTest, PassingCellsLookAsOthersUntilTheyAreErased) {
  MetricsRegistry registry;
  PassingCounterFamily* loads = registry.AddPassingCounter("/loads", {"model_path", "status"});
  PassingHistogramFamily* times = registry.AddPassingHistogram("/times", {"model_path"}, {1.0});
  registry.AddCounter("/requests", {"model_path"})->Get({"/m/1"}).Increment();
  loads->Record({"/m/1", "success"}, 1);
  loads->Record({"/m/2", "fail"}, 1);
  loads->Record({"/m/2", "fail"}, 1);
  times->Record({"/m/1"}, 0.5);

  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :loads counter\n"
            ":loads{model_path=\"/m/1\",status=\"success\"} 1\n"
            ":loads{model_path=\"/m/2\",status=\"fail\"} 2\n"
            "# TYPE :requests counter\n"
            ":requests{model_path=\"/m/1\"} 1\n"
            "# TYPE :times histogram\n"
            ":times_bucket{model_path=\"/m/1\",le=\"1\"} 1\n"
            ":times_bucket{model_path=\"/m/1\",le=\"+Inf\"} 1\n"
            ":times_sum{model_path=\"/m/1\"} 0.5\n"
            ":times_count{model_path=\"/m/1\"} 1\n");
  registry.EraseCells("model_path", "/m/1");
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :loads counter\n"
            ":loads{model_path=\"/m/2\",status=\"fail\"} 2\n"
            "# TYPE :requests counter\n"
            ":requests{model_path=\"/m/1\"} 1\n"
            "# TYPE :times histogram\n");
}

TEST(MetricsTest, CollectedSamplesOfSeveralOwnersShareOneFamily) {
  MetricsRegistry registry;
  const std::vector<double> bounds = {1.0};
  Histogram times(bounds);
  times.Record(0.5);
  times.Record(3);
  auto seconds = registry.Collect("/s", prometheus::MetricType::Counter, {"pool"}, [] {
    return std::vector<MetricsRegistry::Sample>{{{"b"}, 0.125}, {{"a"}, 1700000000}};
  });
  auto more = registry.Collect("/s", prometheus::MetricType::Counter, {"pool"}, [] {
    return std::vector<MetricsRegistry::Sample>{{{"c"}, -1}};
  });
  auto histogram = registry.Collect("/t", prometheus::MetricType::Histogram, {}, [&] {
    return std::vector<MetricsRegistry::Sample>{{.values = {}, .histogram = times.Read()}};
  });
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :s counter\n"
            ":s{pool=\"b\"} 0.125\n"
            ":s{pool=\"a\"} 1700000000\n"
            ":s{pool=\"c\"} -1\n"
            "# TYPE :t histogram\n"
            ":t_bucket{le=\"1\"} 1\n"
            ":t_bucket{le=\"+Inf\"} 2\n"
            ":t_sum{} 3.5\n"
            ":t_count{} 2\n");
  ASSERT_EQ(registry.Collected("/s").size(), 3);
  EXPECT_EQ(registry.Collected("/s")[2].value, -1);
  EXPECT_TRUE(registry.Collected("/unknown").empty());
  seconds.reset();
  histogram.reset();
  EXPECT_EQ(registry.RenderMetrics(),
            "# TYPE :s counter\n"
            ":s{pool=\"c\"} -1\n"
            "# TYPE :t histogram\n");
}

TEST(MetricsTest, FirstValueGoesByTheRegisteredName) {
  MetricsRegistry registry;
  CounterFamily* family = registry.AddCounter("/tensorflow/x", {"k"});
  EXPECT_EQ(registry.FirstValue("/tensorflow/x"), std::nullopt);
  family->Get({"b"}).Increment(2);
  family->Get({"a"}).Increment(1);
  EXPECT_EQ(registry.FirstValue("/tensorflow/x"), 1);
  EXPECT_EQ(registry.FirstValue(":tensorflow:x"), std::nullopt);
  EXPECT_EQ(registry.FirstValue("/unknown"), std::nullopt);
}

}  // namespace
}  // namespace tessera::serving
