// Counters, gauges and histograms, and the monitoring page that shows them.
//
//   MetricsRegistry registry;
//   CounterFamily* requests = registry.AddCounter("/tensorflow/serving/request_count",
//                                                 {"model_name", "status"});
//   requests->Get({"resnet", "OK"}).Increment();
//   std::string page = registry.RenderMetrics();
//
// Recording takes no lock and, once a cell exists, allocates nothing. The page has the form that
// TensorFlow Serving's has, which Prometheus reads: see RenderMetrics().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace tessera::serving {

// A number that only grows. Thread-safe.
class Counter {
 public:
  void Increment(int64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// A number that is set. Thread-safe.
class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Counts of samples by range. A sample x belongs to the first bound with x < bound, as TensorFlow's
// histograms have it. Thread-safe; a page rendered during a Record() may miss that sample in one of
// count, sum and bucket.
class Histogram {
 public:
  // `bounds` ascending; a last bucket without bound is added. They must outlive the histogram.
  explicit Histogram(absl::Span<const double> bounds);
  void Record(double sample);

  int64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  int64_t bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  absl::Span<const double> bounds() const { return bounds_; }

 private:
  const absl::Span<const double> bounds_;
  std::unique_ptr<std::atomic<int64_t>[]> buckets_;  // bounds_.size() + 1
  std::atomic<double> sum_{0};
};

// scale * growth^i for i < count.
std::vector<double> ExponentialBounds(double scale, double growth, int count);

// Cells by label values: a table that only grows, so that look-ups need no lock. Label values come
// from requests (names of models nobody serves), hence the limit: further combinations share
// one cell whose label values are all "other".
template <typename Cell>
class MetricFamily {
 public:
  static constexpr int kMaxCells = 8192;

  MetricFamily(std::string name, std::vector<std::string> labels, std::vector<double> bounds);
  ~MetricFamily();
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;

  // The cell of these label values, made at the first call; lives as long as the family. Requires
  // as many values as the family has labels. Thread-safe.
  Cell& Get(absl::Span<const absl::string_view> values);
  Cell& Get(std::initializer_list<absl::string_view> values) {
    return Get(absl::Span<const absl::string_view>(values.begin(), values.size()));
  }

  const std::string& name() const { return name_; }
  const std::vector<std::string>& labels() const { return labels_; }
  const std::vector<double>& bounds() const { return bounds_; }

  struct Node {
    std::vector<std::string> values;
    std::unique_ptr<Cell> cell;
    const Node* next = nullptr;
  };
  // All cells, ordered by label values.
  std::vector<const Node*> Cells() const;

 private:
  static constexpr size_t kBuckets = 64;
  const Node* Find(const Node* head, absl::Span<const absl::string_view> values) const;

  const std::string name_;
  const std::vector<std::string> labels_;
  const std::vector<double> bounds_;
  std::array<std::atomic<const Node*>, kBuckets> heads_{};
  std::atomic<int> num_cells_{0};
};

using CounterFamily = MetricFamily<Counter>;
using GaugeFamily = MetricFamily<Gauge>;
using HistogramFamily = MetricFamily<Histogram>;

// Cells that go away again, as the versions do that they tell of: MetricsRegistry::EraseCells().
// For what is recorded seldom, since each call takes a lock. Thread-safe.
template <typename Cell>
class PassingFamily {
 public:
  PassingFamily(std::vector<std::string> labels, std::vector<double> bounds)
      : labels_(std::move(labels)), bounds_(std::move(bounds)) {}

  // Calls `record` with the cell of these label values, which is made if there is none. Requires
  // as many values as the family has labels.
  void Record(std::initializer_list<absl::string_view> values,
              absl::FunctionRef<void(Cell& cell)> record);
  void Erase(absl::string_view label, absl::string_view value);

  const std::vector<std::string>& labels() const { return labels_; }
  // Calls `visit` for all cells, ordered by label values. It must not call the family.
  void ForEach(absl::FunctionRef<void(const std::vector<std::string>& values, const Cell& cell)>
                   visit) const;

 private:
  const std::vector<std::string> labels_;
  const std::vector<double> bounds_;
  mutable absl::Mutex mu_;
  std::map<std::vector<std::string>, std::unique_ptr<Cell>> cells_ ABSL_GUARDED_BY(mu_);
};

using PassingCounterFamily = PassingFamily<Counter>;
using PassingHistogramFamily = PassingFamily<Histogram>;

// All metrics of one server. Families are added at start and live as long as the registry.
// Thread-safe.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();

  // `name` as TensorFlow registers it, "/tensorflow/serving/request_count". Adding a name again
  // gives the family there is; it must be of the same kind.
  CounterFamily* AddCounter(absl::string_view name, std::vector<std::string> labels);
  GaugeFamily* AddGauge(absl::string_view name, std::vector<std::string> labels);
  HistogramFamily* AddHistogram(absl::string_view name, std::vector<std::string> labels,
                                std::vector<double> bounds);
  PassingCounterFamily* AddPassingCounter(absl::string_view name, std::vector<std::string> labels);
  PassingHistogramFamily* AddPassingHistogram(absl::string_view name,
                                              std::vector<std::string> labels,
                                              std::vector<double> bounds);

  // Drops the cells of all passing families with this value of a label.
  void EraseCells(absl::string_view label, absl::string_view value);

  // A sample of a gauge, by the values of its labels.
  struct Sample {
    std::vector<std::string> values;
    int64_t value;
  };
  using Collect = std::function<std::vector<Sample>()>;
  // A gauge whose cells come and go, as versions of a model do: `collect` is asked for them, in
  // the order in which they are to be shown, whenever a page is rendered, until the returned object
  // is destroyed. It must not call the registry.
  class Collection;
  [[nodiscard]] std::unique_ptr<Collection> CollectGauge(absl::string_view name,
                                                         std::vector<std::string> labels,
                                                         Collect collect);

  // The text for Prometheus: a "# TYPE" line for every family, also for those without cells, then
  // its samples; families in byte order of their printed names, which have every character outside
  // [a-zA-Z0-9_] turned to ':'. Label values may be anything, since requests make them up: what
  // would break the page's form is escaped.
  std::string RenderMetrics() const;

  // Value of the first cell of the counter or gauge registered under `name`; nullopt if there is
  // none. HandleReloadConfigRequest reports differences of these.
  std::optional<int64_t> FirstValue(absl::string_view name) const;

 private:
  struct Family;
  Family& Find(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The family of this name, made of `arguments` if there is none.
  template <typename Kind, typename... Arguments>
  Kind* Add(absl::string_view name, Arguments... arguments);

  mutable absl::Mutex mu_;
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
