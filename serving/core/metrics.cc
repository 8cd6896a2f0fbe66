#include "serving/core/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

// "/tensorflow/serving/request_count" -> ":tensorflow:serving:request_count"
std::string PrintedName(absl::string_view name) {
  std::string printed(name);
  for (char& c : printed) {
    if (!absl::ascii_isalnum(c) && c != '_') c = ':';
  }
  return printed;
}

std::string PrintedLabel(absl::string_view label) {
  std::string printed(label);
  for (char& c : printed) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  if (!printed.empty() && absl::ascii_isdigit(printed[0])) return absl::StrCat("_", printed);
  return printed;
}

void AppendEscaped(absl::string_view value, std::string* out) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out->push_back('\\');
    out->push_back(c);
  }
}

// `a="x",b="y"`; empty without labels.
std::string PrintedLabels(const std::vector<std::string>& labels,
                          const std::vector<std::string>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", PrintedLabel(labels[i]), "=\"");
    AppendEscaped(values[i], &text);
    text.push_back('"');
  }
  return text;
}

void RenderCell(absl::string_view name, const std::string& labels, const Counter& counter,
                std::string* page) {
  absl::StrAppend(page, name, "{", labels, "} ", counter.value(), "\n");
}

void RenderCell(absl::string_view name, const std::string& labels, const Gauge& gauge,
                std::string* page) {
  absl::StrAppend(page, name, "{", labels, "} ", gauge.value(), "\n");
}

void RenderCell(absl::string_view name, const std::string& labels, const Histogram& histogram,
                std::string* page) {
  const absl::string_view comma = labels.empty() ? "" : ",";
  int64_t total = 0;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    total += histogram.bucket(i);
    const std::string bound = i < histogram.bounds().size()
                                  ? absl::StrFormat("%.6g", histogram.bounds()[i])
                                  : std::string("+Inf");
    absl::StrAppend(page, name, "_bucket{", labels, comma, "le=\"", bound, "\"} ", total, "\n");
  }
  absl::StrAppend(page, name, "_sum{", labels, "} ", absl::StrFormat("%.6g", histogram.sum()), "\n",
                  name, "_count{", labels, "} ", total, "\n");
}

template <typename Cell>
void RenderFamily(absl::string_view name, const MetricFamily<Cell>& family, std::string* page) {
  for (const auto* node : family.Cells()) {
    RenderCell(name, PrintedLabels(family.labels(), node->values), *node->cell, page);
  }
}

template <typename Cell>
std::optional<int64_t> FirstValueOf(const MetricFamily<Cell>& family) {
  const auto cells = family.Cells();
  if (cells.empty()) return std::nullopt;
  return cells.front()->cell->value();
}

}  // namespace

Histogram::Histogram(absl::Span<const double> bounds)
    : bounds_(bounds), buckets_(new std::atomic<int64_t>[bounds.size() + 1]()) {}

void Histogram::Record(double sample) {
  const size_t i = std::upper_bound(bounds_.begin(), bounds_.end(), sample) - bounds_.begin();
  buckets_[i].fetch_add(1, std::memory_order_relaxed);
  double sum = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(sum, sum + sample, std::memory_order_relaxed)) {
  }
}

int64_t Histogram::count() const {
  int64_t count = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) count += bucket(i);
  return count;
}

std::vector<double> ExponentialBounds(double scale, double growth, int count) {
  std::vector<double> bounds(count);
  for (double& bound : bounds) {
    bound = scale;
    scale *= growth;
  }
  return bounds;
}

template <typename Cell>
MetricFamily<Cell>::MetricFamily(std::string name, std::vector<std::string> labels,
                                 std::vector<double> bounds)
    : name_(std::move(name)), labels_(std::move(labels)), bounds_(std::move(bounds)) {}

template <typename Cell>
MetricFamily<Cell>::~MetricFamily() {
  for (std::atomic<const Node*>& head : heads_) {
    for (const Node* node = head.load(); node != nullptr;) delete std::exchange(node, node->next);
  }
}

template <typename Cell>
const typename MetricFamily<Cell>::Node* MetricFamily<Cell>::Find(
    const Node* head, absl::Span<const absl::string_view> values) const {
  for (const Node* node = head; node != nullptr; node = node->next) {
    if (std::equal(values.begin(), values.end(), node->values.begin(), node->values.end())) {
      return node;
    }
  }
  return nullptr;
}

template <typename Cell>
Cell& MetricFamily<Cell>::Get(absl::Span<const absl::string_view> values) {
  CHECK(values.size() == labels_.size()) << name_ << " takes " << labels_.size() << " labels";
  std::atomic<const Node*>& list = heads_[absl::HashOf(values) % kBuckets];
  const Node* head = list.load(std::memory_order_acquire);
  if (const Node* found = Find(head, values)) [[likely]] {
    return *found->cell;
  }
  if (num_cells_.fetch_add(1, std::memory_order_relaxed) >= kMaxCells &&
      !std::all_of(values.begin(), values.end(), [](auto v) { return v == "other"; })) {
    return Get(std::vector<absl::string_view>(labels_.size(), "other"));
  }
  auto node = std::make_unique<Node>();
  for (const absl::string_view value : values) node->values.emplace_back(value);
  if constexpr (std::is_same_v<Cell, Histogram>) {
    node->cell = std::make_unique<Cell>(bounds_);
  } else {
    node->cell = std::make_unique<Cell>();
  }
  node->next = head;
  while (!list.compare_exchange_weak(head, node.get(), std::memory_order_acq_rel)) {
    // Somebody was faster, perhaps with the same values.
    if (const Node* found = Find(head, values)) return *found->cell;
    node->next = head;
  }
  return *node.release()->cell;
}

template <typename Cell>
std::vector<const typename MetricFamily<Cell>::Node*> MetricFamily<Cell>::Cells() const {
  std::vector<const Node*> cells;
  for (const std::atomic<const Node*>& head : heads_) {
    for (const Node* node = head.load(std::memory_order_acquire); node; node = node->next) {
      cells.push_back(node);
    }
  }
  std::sort(cells.begin(), cells.end(),
            [](const Node* a, const Node* b) { return a->values < b->values; });
  return cells;
}

template class MetricFamily<Counter>;
template class MetricFamily<Gauge>;
template class MetricFamily<Histogram>;

// One of the three, or a gauge that is collected.
struct MetricsRegistry::Family {
  std::unique_ptr<CounterFamily> counter;
  std::unique_ptr<GaugeFamily> gauge;
  std::unique_ptr<HistogramFamily> histogram;
  std::vector<std::string> collected_labels;
  Collect collect;  // empty once the collection has ended
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::Add(absl::string_view name) {
  std::unique_ptr<Family>& family = families_[PrintedName(name)];
  if (family == nullptr) family = std::make_unique<Family>();
  return *family;
}

CounterFamily* MetricsRegistry::AddCounter(absl::string_view name,
                                           std::vector<std::string> labels) {
  absl::MutexLock lock(&mu_);
  Family& family = Add(name);
  if (family.counter == nullptr) {
    family.counter = std::make_unique<CounterFamily>(std::string(name), std::move(labels),
                                                     std::vector<double>());
  }
  return family.counter.get();
}

GaugeFamily* MetricsRegistry::AddGauge(absl::string_view name, std::vector<std::string> labels) {
  absl::MutexLock lock(&mu_);
  Family& family = Add(name);
  if (family.gauge == nullptr) {
    family.gauge =
        std::make_unique<GaugeFamily>(std::string(name), std::move(labels), std::vector<double>());
  }
  return family.gauge.get();
}

HistogramFamily* MetricsRegistry::AddHistogram(absl::string_view name,
                                               std::vector<std::string> labels,
                                               std::vector<double> bounds) {
  absl::MutexLock lock(&mu_);
  Family& family = Add(name);
  if (family.histogram == nullptr) {
    family.histogram =
        std::make_unique<HistogramFamily>(std::string(name), std::move(labels), std::move(bounds));
  }
  return family.histogram.get();
}

std::unique_ptr<MetricsRegistry::Collection> MetricsRegistry::CollectGauge(
    absl::string_view name, std::vector<std::string> labels, Collect collect) {
  absl::MutexLock lock(&mu_);
  Family& family = Add(name);
  family.collected_labels = std::move(labels);
  family.collect = std::move(collect);
  return std::make_unique<Collection>(this, &family);
}

MetricsRegistry::Collection::~Collection() {
  absl::MutexLock lock(&registry_->mu_);
  family_->collect = nullptr;
}

std::string MetricsRegistry::RenderMetrics() const {
  std::string page;
  absl::MutexLock lock(&mu_);
  for (const auto& [name, family] : families_) {
    absl::StrAppend(&page, "# TYPE ", name, " ");
    if (family->counter != nullptr) {
      page.append("counter\n");
      RenderFamily(name, *family->counter, &page);
    } else if (family->gauge != nullptr) {
      page.append("gauge\n");
      RenderFamily(name, *family->gauge, &page);
    } else if (family->histogram != nullptr) {
      page.append("histogram\n");
      RenderFamily(name, *family->histogram, &page);
    } else {
      page.append("gauge\n");
      if (family->collect == nullptr) continue;
      for (const Sample& sample : family->collect()) {
        absl::StrAppend(&page, name, "{", PrintedLabels(family->collected_labels, sample.values),
                        "} ", sample.value, "\n");
      }
    }
  }
  return page;
}

std::optional<int64_t> MetricsRegistry::FirstValue(absl::string_view name) const {
  absl::MutexLock lock(&mu_);
  auto it = families_.find(PrintedName(name));
  if (it == families_.end()) return std::nullopt;
  const Family& family = *it->second;
  if (family.counter != nullptr && family.counter->name() == name) {
    return FirstValueOf(*family.counter);
  }
  if (family.gauge != nullptr && family.gauge->name() == name) return FirstValueOf(*family.gauge);
  return std::nullopt;
}

}  // namespace tessera::serving
