#include "serving/core/metrics.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "absl/hash/hash.h"
#include "runtime/base/logging.h"
#include "serving/core/metrics_page.h"

namespace tessera::serving {
namespace {

size_t BucketOf(absl::Span<const double> bounds, double sample) {
  return std::upper_bound(bounds.begin(), bounds.end(), sample) - bounds.begin();
}

// Returns the family of this name in the library. The first call creates it. The library compares
// the name with those of all families, so families without cells are not created.
template <typename Kept>
prometheus::Family<Kept>& KeptFamily(const MetricDeclaration& declaration) {
  const auto registered = [&](auto builder) -> prometheus::Family<Kept>& {
    return builder.Name(declaration.name).Register(*declaration.registry);
  };
  if constexpr (std::is_same_v<Kept, prometheus::Counter>) {
    return registered(prometheus::BuildCounter());
  } else if constexpr (std::is_same_v<Kept, prometheus::Gauge>) {
    return registered(prometheus::BuildGauge());
  } else {
    return registered(prometheus::BuildHistogram());
  }
}

// Returns the cell of these labels in the library. The first call creates it.
template <typename Kept>
Kept& KeptCell(const MetricDeclaration& declaration, const prometheus::Labels& labels) {
  if constexpr (std::is_same_v<Kept, prometheus::Histogram>) {
    return KeptFamily<Kept>(declaration).Add(labels, declaration.bounds);
  } else {
    return KeptFamily<Kept>(declaration).Add(labels);
  }
}

template <typename Values>
prometheus::Labels LabelsOf(const MetricDeclaration& declaration, const Values& values) {
  CHECK(values.size() == declaration.labels.size())
      << declaration.name << " takes " << declaration.labels.size() << " labels";
  prometheus::Labels labels;
  auto label = declaration.labels.begin();
  for (const auto& value : values) labels.emplace(*label++, value);
  return labels;
}

}  // namespace

Histogram::Histogram(absl::Span<const double> bounds)
    : bounds_(bounds), buckets_(new std::atomic<int64_t>[bounds.size() + 1]()) {}

void Histogram::Record(double sample) {
  buckets_[BucketOf(bounds_, sample)].fetch_add(1, std::memory_order_relaxed);
  if (sample != 0) sum_.fetch_add(sample, std::memory_order_relaxed);
}

prometheus::ClientMetric::Histogram Histogram::Read() const {
  prometheus::ClientMetric::Histogram read;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    read.sample_count += buckets_[i].load(std::memory_order_relaxed);
    read.bucket.push_back(
        {.cumulative_count = read.sample_count,
         .upper_bound = i < bounds_.size() ? bounds_[i] : std::numeric_limits<double>::infinity()});
  }
  read.sample_sum = sum_.load(std::memory_order_relaxed);
  return read;
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
typename MetricFamily<Cell>::CellPointer MetricFamily<Cell>::MakeCell(
    const std::vector<std::string>& values) const {
  const prometheus::Labels labels = LabelsOf(declaration_, values);
  if constexpr (std::is_same_v<Cell, Histogram>) {
    return std::make_unique<Histogram>(declaration_.bounds);
  } else {
    return &KeptCell<Cell>(declaration_, labels);
  }
}

template <typename Cell>
Cell& MetricFamily<Cell>::Get(absl::Span<const absl::string_view> values) {
  std::atomic<const Node*>& list = heads_[absl::HashOf(values) % kBuckets];
  const Node* head = list.load(std::memory_order_acquire);
  if (const Node* found = Find(head, values)) [[likely]] {
    return *found->cell;
  }
  if (num_cells_.load(std::memory_order_relaxed) >= kMaxCells &&
      !std::all_of(values.begin(), values.end(), [](auto v) { return v == "other"; })) {
    return Get(std::vector<absl::string_view>(declaration_.labels.size(), "other"));
  }
  if (std::any_of(values.begin(), values.end(),
                  [](absl::string_view v) { return v.size() > kMaxValueBytes; })) {
    std::vector<absl::string_view> shorter(values.begin(), values.end());
    for (absl::string_view& value : shorter) {
      if (value.size() > kMaxValueBytes) value = "other";
    }
    return Get(shorter);
  }
  // Threads that run this at the same time may exceed the limit by one cell each.
  num_cells_.fetch_add(1, std::memory_order_relaxed);
  auto node = std::make_unique<Node>();
  for (const absl::string_view value : values) node->values.emplace_back(value);
  node->cell = MakeCell(node->values);
  node->next = head;
  while (!list.compare_exchange_weak(head, node.get(), std::memory_order_acq_rel)) {
    // Another thread has added a cell in the meantime, perhaps for the same values.
    if (const Node* found = Find(head, values)) return *found->cell;
    node->next = head;
  }
  return *node.release()->cell;
}

template <typename Cell>
std::vector<MetricSample> MetricFamily<Cell>::Samples() const {
  std::vector<MetricSample> samples;
  if constexpr (std::is_same_v<Cell, Histogram>) {
    for (const std::atomic<const Node*>& head : heads_) {
      for (const Node* node = head.load(std::memory_order_acquire); node; node = node->next) {
        samples.push_back({.values = node->values, .histogram = node->cell->Read()});
      }
    }
  }
  return samples;
}

template class MetricFamily<Counter>;
template class MetricFamily<Gauge>;
template class MetricFamily<Histogram>;

template <typename Kept>
void PassingFamily<Kept>::Record(std::initializer_list<absl::string_view> values, double amount) {
  const prometheus::Labels labels = LabelsOf(declaration_, values);
  absl::MutexLock lock(&mu_);
  Kept& cell = KeptCell<Kept>(declaration_, labels);
  if constexpr (std::is_same_v<Kept, prometheus::Histogram>) {
    std::vector<double> counts(declaration_.bounds.size() + 1);
    counts[BucketOf(declaration_.bounds, amount)] = 1;
    cell.ObserveMultiple(counts, amount);
  } else {
    cell.Increment(amount);
  }
}

template <typename Kept>
void PassingFamily<Kept>::Erase(absl::string_view label, absl::string_view value) {
  const std::string printed = PrintedLabel(label);
  absl::MutexLock lock(&mu_);
  prometheus::Family<Kept>& family = KeptFamily<Kept>(declaration_);
  for (const prometheus::MetricFamily& collected : family.Collect()) {
    for (const prometheus::ClientMetric& metric : collected.metric) {
      if (LabelValue(metric, printed) != value) continue;
      prometheus::Labels labels;
      for (const auto& entry : metric.label) labels.emplace(entry.name, entry.value);
      family.Remove(&KeptCell<Kept>(declaration_, labels));
    }
  }
}

template class PassingFamily<prometheus::Counter>;
template class PassingFamily<prometheus::Histogram>;

// The functions that the samples of a metric come from.
using Collections =
    std::vector<std::pair<const MetricsRegistry::Collection*, MetricsRegistry::CollectSamples>>;

struct MetricsRegistry::Family {
  std::string name;  // as added
  prometheus::MetricType type;
  std::vector<std::string> labels;  // as printed
  std::variant<std::monostate, std::unique_ptr<CounterFamily>, std::unique_ptr<GaugeFamily>,
               std::unique_ptr<HistogramFamily>, std::unique_ptr<PassingCounterFamily>,
               std::unique_ptr<PassingHistogramFamily>, Collections>
      kind;

  // Returns the samples of a family that Collect() added.
  std::vector<Sample> Collected() const;
  prometheus::MetricFamily Shown(const std::vector<Sample>& samples) const;
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::Find(absl::string_view name, prometheus::MetricType type,
                                               std::vector<std::string> labels) {
  std::unique_ptr<Family>& family = families_[PrintedName(name)];
  if (family == nullptr) {
    for (std::string& label : labels) label = PrintedLabel(label);
    family.reset(new Family{std::string(name), type, std::move(labels), std::monostate()});
  }
  return *family;
}

template <typename Kind>
Kind* MetricsRegistry::Add(absl::string_view name, prometheus::MetricType type,
                           std::vector<std::string> labels, std::vector<double> bounds) {
  absl::MutexLock lock(&mu_);
  Family& family = Find(name, type, std::move(labels));
  if (std::holds_alternative<std::monostate>(family.kind)) {
    family.kind = std::make_unique<Kind>(
        MetricDeclaration{&kept_, PrintedName(name), family.labels, std::move(bounds)});
  }
  return std::get<std::unique_ptr<Kind>>(family.kind).get();
}

CounterFamily* MetricsRegistry::AddCounter(absl::string_view name,
                                           std::vector<std::string> labels) {
  return Add<CounterFamily>(name, prometheus::MetricType::Counter, std::move(labels), {});
}

GaugeFamily* MetricsRegistry::AddGauge(absl::string_view name, std::vector<std::string> labels) {
  return Add<GaugeFamily>(name, prometheus::MetricType::Gauge, std::move(labels), {});
}

HistogramFamily* MetricsRegistry::AddHistogram(absl::string_view name,
                                               std::vector<std::string> labels,
                                               std::vector<double> bounds) {
  return Add<HistogramFamily>(name, prometheus::MetricType::Histogram, std::move(labels),
                              std::move(bounds));
}

PassingCounterFamily* MetricsRegistry::AddPassingCounter(absl::string_view name,
                                                         std::vector<std::string> labels) {
  return Add<PassingCounterFamily>(name, prometheus::MetricType::Counter, std::move(labels), {});
}

PassingHistogramFamily* MetricsRegistry::AddPassingHistogram(absl::string_view name,
                                                             std::vector<std::string> labels,
                                                             std::vector<double> bounds) {
  return Add<PassingHistogramFamily>(name, prometheus::MetricType::Histogram, std::move(labels),
                                     std::move(bounds));
}

void MetricsRegistry::EraseCells(absl::string_view label, absl::string_view value) {
  absl::MutexLock lock(&mu_);
  for (const auto& [name, family] : families_) {
    if (const auto* counter = std::get_if<std::unique_ptr<PassingCounterFamily>>(&family->kind)) {
      (*counter)->Erase(label, value);
    } else if (const auto* histogram =
                   std::get_if<std::unique_ptr<PassingHistogramFamily>>(&family->kind)) {
      (*histogram)->Erase(label, value);
    }
  }
}

std::unique_ptr<MetricsRegistry::Collection> MetricsRegistry::Collect(
    absl::string_view name, prometheus::MetricType type, std::vector<std::string> labels,
    CollectSamples collect) {
  absl::MutexLock lock(&mu_);
  Family& family = Find(name, type, std::move(labels));
  auto collection = std::make_unique<Collection>(this, &family);
  if (!std::holds_alternative<Collections>(family.kind)) family.kind = Collections();
  std::get<Collections>(family.kind).emplace_back(collection.get(), std::move(collect));
  return collection;
}

MetricsRegistry::Collection::~Collection() {
  absl::MutexLock lock(&registry_->mu_);
  std::erase_if(std::get<Collections>(family_->kind),
                [this](const auto& entry) { return entry.first == this; });
}

std::vector<MetricSample> MetricsRegistry::Family::Collected() const {
  std::vector<Sample> samples;
  if (const auto* collections = std::get_if<Collections>(&kind)) {
    for (const auto& [owner, collect] : *collections) {
      for (Sample& sample : collect()) samples.push_back(std::move(sample));
    }
  }
  return samples;
}

prometheus::MetricFamily MetricsRegistry::Family::Shown(const std::vector<Sample>& samples) const {
  prometheus::MetricFamily shown{PrintedName(name), "", type, {}};
  for (const Sample& sample : samples) {
    prometheus::ClientMetric& metric = shown.metric.emplace_back();
    for (size_t i = 0; i < sample.values.size(); ++i) {
      metric.label.push_back({labels[i], sample.values[i]});
    }
    metric.counter.value = metric.gauge.value = sample.value;
    metric.histogram = sample.histogram;
  }
  return shown;
}

std::map<std::string, prometheus::MetricFamily> MetricsRegistry::CollectKept() {
  std::vector<prometheus::MetricFamily> all = kept_.Collect();
  for (const auto& [name, family] : families_) {
    if (const auto* histogram = std::get_if<std::unique_ptr<HistogramFamily>>(&family->kind)) {
      const std::vector<Sample> samples = (*histogram)->Samples();
      if (!samples.empty()) all.push_back(family->Shown(samples));
    }
  }
  std::map<std::string, prometheus::MetricFamily> by_name;
  for (prometheus::MetricFamily& collected : all) {
    const std::vector<std::string>& labels = families_.at(collected.name)->labels;
    const auto comes_before = [&labels](const prometheus::ClientMetric& a,
                                        const prometheus::ClientMetric& b) {
      for (const std::string& label : labels) {
        const int order = LabelValue(a, label).compare(LabelValue(b, label));
        if (order != 0) return order < 0;
      }
      return false;
    };
    std::sort(collected.metric.begin(), collected.metric.end(), comes_before);
    by_name.emplace(collected.name, std::move(collected));
  }
  return by_name;
}

std::string MetricsRegistry::RenderMetrics() {
  absl::MutexLock lock(&mu_);
  const std::map<std::string, prometheus::MetricFamily> kept = CollectKept();
  std::string page;
  for (const auto& [name, family] : families_) {
    if (const auto found = kept.find(name); found != kept.end()) {
      AppendFamily(found->second, family->labels, &page);
      continue;
    }
    AppendFamily(family->Shown(family->Collected()), family->labels, &page);
  }
  return page;
}

std::vector<MetricSample> MetricsRegistry::Collected(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  const auto family = families_.find(PrintedName(name));
  return family == families_.end() ? std::vector<MetricSample>() : family->second->Collected();
}

std::optional<int64_t> MetricsRegistry::FirstValue(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  const auto family = families_.find(PrintedName(name));
  if (family == families_.end() || family->second->name != name) return std::nullopt;
  const std::map<std::string, prometheus::MetricFamily> kept = CollectKept();
  const auto found = kept.find(family->first);
  if (found == kept.end() || found->second.type == prometheus::MetricType::Histogram) {
    return std::nullopt;
  }
  const prometheus::ClientMetric& first = found->second.metric.front();
  return static_cast<int64_t>(found->second.type == prometheus::MetricType::Counter
                                  ? first.counter.value
                                  : first.gauge.value);
}

}  // namespace tessera::serving
