// Counters, gauges and histograms, and the monitoring page that shows them.
//
//   MetricsRegistry registry;
//   CounterFamily* requests = registry.AddCounter("/tensorflow/serving/request_count",
//                                                 {"model_name", "status"});
//   requests->Get({"resnet", "OK"}).Increment();
//   std::string page = registry.RenderMetrics();
//
// The prometheus-cpp library keeps counters, gauges and the cells that can be erased. What is here
// is what it lacks: the layout of the page (metrics_page.h), histograms with TensorFlow's bounds, a
// limit on the number of cells, metrics that are kept elsewhere, and two things for the path of a
// request, where the library takes a mutex. Finding a cell by its label values takes 11 ns here and
// 128 ns with prometheus::Family::Add(); recording a sample in a histogram takes 12 ns and 28 ns
// (metrics_benchmark, one thread and several alike).
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace tessera::serving {

// A number that only grows; whole. Thread-safe, without locks.
using Counter = prometheus::Counter;
// A number that is set; whole. Thread-safe, without locks.
using Gauge = prometheus::Gauge;

// Counts samples by range. A sample x belongs to the first bound with x < bound, as in TensorFlow's
// histograms; prometheus::Histogram has x <= bound. Thread-safe, without locks; what Read() returns
// during Record() may hold the sample in the bucket and not yet in the sum, or the reverse.
class Histogram {
 public:
  // `bounds` are ascending, and must outlive this.
  explicit Histogram(absl::Span<const double> bounds);
  void Record(double sample);
  // Returns the cumulative counts and the sum of all samples so far.
  prometheus::ClientMetric::Histogram Read() const;

 private:
  const absl::Span<const double> bounds_;
  std::unique_ptr<std::atomic<int64_t>[]> buckets_;  // bounds_.size() + 1
  std::atomic<double> sum_{0};
};

// Returns scale * growth^i for 0 <= i < count.
std::vector<double> ExponentialBounds(double scale, double growth, int count);

// A sample of a metric, by the values of its labels.
struct MetricSample {
  std::vector<std::string> values;
  double value = 0;                                    // of a counter or a gauge
  prometheus::ClientMetric::Histogram histogram = {};  // of a histogram
};

// The declaration that the metrics of one name share.
struct MetricDeclaration {
  prometheus::Registry* registry;
  std::string name;                 // as printed
  std::vector<std::string> labels;  // as printed
  std::vector<double> bounds;       // of histograms
};

// Cells by label values, found without a lock in a hash table that only grows. Label values come
// from requests, which may name models that nobody serves. Therefore the number of cells is
// limited; further combinations share one cell whose label values are all "other".
template <typename Cell>
class MetricFamily {
 public:
  static constexpr int kMaxCells = 8192;
  // A longer value of a label counts as "other": clients choose some, such as names of models.
  static constexpr size_t kMaxValueBytes = 1024;

  explicit MetricFamily(MetricDeclaration declaration) : declaration_(std::move(declaration)) {}
  ~MetricFamily();
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;

  // Returns the cell of these label values, which the first call creates; it lives as long as the
  // registry. Requires one value for each label. Thread-safe.
  Cell& Get(absl::Span<const absl::string_view> values);
  Cell& Get(std::initializer_list<absl::string_view> values) {
    return Get(absl::Span<const absl::string_view>(values.begin(), values.size()));
  }

  // Returns what the cells of a family of histograms hold, in no order. The library has the cells
  // of all other families.
  std::vector<MetricSample> Samples() const;

 private:
  // The library owns counters and gauges.
  using CellPointer =
      std::conditional_t<std::is_same_v<Cell, Histogram>, std::unique_ptr<Histogram>, Cell*>;
  struct Node {
    std::vector<std::string> values;
    CellPointer cell;
    const Node* next = nullptr;
  };
  static constexpr size_t kBuckets = 64;

  const Node* Find(const Node* head, absl::Span<const absl::string_view> values) const;
  CellPointer MakeCell(const std::vector<std::string>& values) const;

  const MetricDeclaration declaration_;
  std::array<std::atomic<const Node*>, kBuckets> heads_{};
  std::atomic<int> num_cells_{0};
};

using CounterFamily = MetricFamily<Counter>;
using GaugeFamily = MetricFamily<Gauge>;
using HistogramFamily = MetricFamily<Histogram>;

// Cells that can be erased: see MetricsRegistry::EraseCells(). For metrics that are recorded
// seldom, since each call takes locks. `Kept` is prometheus::Counter or prometheus::Histogram.
// Thread-safe.
template <typename Kept>
class PassingFamily {
 public:
  explicit PassingFamily(MetricDeclaration declaration) : declaration_(std::move(declaration)) {}

  // Adds `amount` to a counter, or records it as a sample of a histogram. Creates the cell if there
  // is none. Requires one value for each label.
  void Record(std::initializer_list<absl::string_view> values, double amount);
  // Erases the cells with this value of this label.
  void Erase(absl::string_view label, absl::string_view value);

 private:
  Kept& CellOf(const prometheus::Labels& labels) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const MetricDeclaration declaration_;
  absl::Mutex mu_;  // the library's cells must not go while they are recorded to
};

using PassingCounterFamily = PassingFamily<prometheus::Counter>;
using PassingHistogramFamily = PassingFamily<prometheus::Histogram>;

// All metrics of one server. Families are added at start and live as long as the registry.
// Thread-safe.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();

  // `name` as TensorFlow registers it, "/tensorflow/serving/request_count". Adding a name again
  // returns the existing family, which must be of the same kind.
  CounterFamily* AddCounter(absl::string_view name, std::vector<std::string> labels);
  GaugeFamily* AddGauge(absl::string_view name, std::vector<std::string> labels);
  HistogramFamily* AddHistogram(absl::string_view name, std::vector<std::string> labels,
                                std::vector<double> bounds);
  PassingCounterFamily* AddPassingCounter(absl::string_view name, std::vector<std::string> labels);
  PassingHistogramFamily* AddPassingHistogram(absl::string_view name,
                                              std::vector<std::string> labels,
                                              std::vector<double> bounds);

  // Erases the cells of all passing families that have this value of this label.
  void EraseCells(absl::string_view label, absl::string_view value);

  using Sample = MetricSample;
  using CollectSamples = std::function<std::vector<Sample>()>;
  // Adds a metric whose cells come and go, as the versions of a model do. Each rendering of a page
  // calls `collect`, which returns the samples in the order in which they are shown, until the
  // returned object is destroyed. If a name is added several times, all their samples are shown, in
  // the order in which they were added. `collect` must not call the registry.
  class Collection;
  [[nodiscard]] std::unique_ptr<Collection> Collect(absl::string_view name,
                                                    prometheus::MetricType type,
                                                    std::vector<std::string> labels,
                                                    CollectSamples collect);
  [[nodiscard]] std::unique_ptr<Collection> CollectGauge(absl::string_view name,
                                                         std::vector<std::string> labels,
                                                         CollectSamples collect) {
    return Collect(name, prometheus::MetricType::Gauge, std::move(labels), std::move(collect));
  }

  // Returns the page for Prometheus: for each family a "# TYPE" line, even without samples, then
  // its samples, ordered by label values. Families are in byte order of their printed names.
  std::string RenderMetrics();

  // Returns the samples now of a metric that was added by Collect(); none if there is no such
  // metric.
  std::vector<Sample> Collected(absl::string_view name);

  // Returns the value of the first cell of the counter or gauge that was added under `name`;
  // nullopt if there is none. HandleReloadConfigRequest reports differences of these.
  std::optional<int64_t> FirstValue(absl::string_view name);

 private:
  struct Family;
  template <typename Kind>
  Kind* Add(absl::string_view name, prometheus::MetricType type, std::vector<std::string> labels,
            std::vector<double> bounds);
  Family& Find(absl::string_view name, prometheus::MetricType type, std::vector<std::string> labels)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns what has samples, but for what Collect() added, by printed name, each family ordered by
  // label values.
  std::map<std::string, prometheus::MetricFamily> CollectKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  prometheus::Registry kept_;
  absl::Mutex mu_;
  std::map<std::string, std::unique_ptr<Family>> families_ ABSL_GUARDED_BY(mu_);  // by printed name
};

// Ends with this object; must not outlive the registry.
class MetricsRegistry::Collection {
 public:
  Collection(MetricsRegistry* registry, Family* family) : registry_(registry), family_(family) {}
  // Waits for a page that is being rendered.
  ~Collection();
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

 private:
  MetricsRegistry* const registry_;
  Family* const family_;
};

}  // namespace tessera::serving
