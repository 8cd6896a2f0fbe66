#include "serving/core/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <type_traits>
#include <utility>
#include <variant>

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

// The size of the UTF-8 character that `text`, which is not empty, begins with; 0 if it is none.
size_t CharacterSize(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Spelt longer than need be, of a surrogate pair, or beyond the last character.
  const bool is_none = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
                       (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return is_none ? 0 : size;
}

// As Prometheus reads it, which gives up a page with anything else. Bytes that are no text are
// shown as texts of their own.
void AppendEscaped(absl::string_view value, std::string* out) {
  while (!value.empty()) {
    const size_t size = CharacterSize(value);
    if (size == 0) {
      absl::StrAppend(out, "\\\\x",
                      absl::Hex(static_cast<unsigned char>(value[0]), absl::kZeroPad2));
    } else if (value[0] == '\n') {
      out->append("\\n");
    } else {
      if (value[0] == '\\' || value[0] == '"') out->push_back('\\');
      out->append(value.data(), size);
    }
    value.remove_prefix(std::max<size_t>(size, 1));
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

void RenderType(absl::string_view name, absl::string_view type, std::string* page) {
  absl::StrAppend(page, "# TYPE ", name, " ", type, "\n");
}

// Prometheus's word for families of a kind of cell.
template <typename Cell>
constexpr absl::string_view kTypeName;
template <>
constexpr absl::string_view kTypeName<Counter> = "counter";
template <>
constexpr absl::string_view kTypeName<Gauge> = "gauge";
template <>
constexpr absl::string_view kTypeName<Histogram> = "histogram";

template <typename Cell>
void RenderFamily(absl::string_view name, const MetricFamily<Cell>& family, std::string* page) {
  RenderType(name, kTypeName<Cell>, page);
  for (const auto* node : family.Cells()) {
    RenderCell(name, PrintedLabels(family.labels(), node->values), *node->cell, page);
  }
}

template <typename Cell>
void RenderFamily(absl::string_view name, const PassingFamily<Cell>& family, std::string* page) {
  RenderType(name, kTypeName<Cell>, page);
  family.ForEach([&](const std::vector<std::string>& values, const Cell& cell) {
    RenderCell(name, PrintedLabels(family.labels(), values), cell, page);
  });
}

template <typename Cell>
std::unique_ptr<Cell> MakeCell(const std::vector<double>& bounds) {
  if constexpr (std::is_same_v<Cell, Histogram>) {
    return std::make_unique<Cell>(bounds);
  } else {
    return std::make_unique<Cell>();
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
  if (num_cells_.load(std::memory_order_relaxed) >= kMaxCells &&
      !std::all_of(values.begin(), values.end(), [](auto v) { return v == "other"; })) {
    return Get(std::vector<absl::string_view>(labels_.size(), "other"));
  }
  // Some more than the limit may be made at once, by as many threads.
  num_cells_.fetch_add(1, std::memory_order_relaxed);
  auto node = std::make_unique<Node>();
  for (const absl::string_view value : values) node->values.emplace_back(value);
  node->cell = MakeCell<Cell>(bounds_);
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

template <typename Cell>
void PassingFamily<Cell>::Record(std::initializer_list<absl::string_view> values,
                                 absl::FunctionRef<void(Cell& cell)> record) {
  CHECK(values.size() == labels_.size()) << values.size() << " values for " << labels_.size();
  absl::MutexLock lock(&mu_);
  std::unique_ptr<Cell>& cell = cells_[std::vector<std::string>(values.begin(), values.end())];
  if (cell == nullptr) cell = MakeCell<Cell>(bounds_);
  record(*cell);
}

template <typename Cell>
void PassingFamily<Cell>::Erase(absl::string_view label, absl::string_view value) {
  const auto position = std::find(labels_.begin(), labels_.end(), label) - labels_.begin();
  if (position == static_cast<ptrdiff_t>(labels_.size())) return;
  absl::MutexLock lock(&mu_);
  std::erase_if(cells_, [&](const auto& cell) { return cell.first[position] == value; });
}

template <typename Cell>
void PassingFamily<Cell>::ForEach(
    absl::FunctionRef<void(const std::vector<std::string>& values, const Cell& cell)> visit) const {
  absl::MutexLock lock(&mu_);
  for (const auto& [values, cell] : cells_) visit(values, *cell);
}

template class PassingFamily<Counter>;
template class PassingFamily<Histogram>;

struct MetricsRegistry::Family {
  // A gauge that is collected.
  struct Collected {
    std::vector<std::string> labels;
    Collect collect;  // empty once the collection has ended
  };
  std::variant<std::monostate, std::unique_ptr<CounterFamily>, std::unique_ptr<GaugeFamily>,
               std::unique_ptr<HistogramFamily>, std::unique_ptr<PassingCounterFamily>,
               std::unique_ptr<PassingHistogramFamily>, Collected>
      kind;
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::Find(absl::string_view name) {
  std::unique_ptr<Family>& family = families_[PrintedName(name)];
  if (family == nullptr) family = std::make_unique<Family>();
  return *family;
}

template <typename Kind, typename... Arguments>
Kind* MetricsRegistry::Add(absl::string_view name, Arguments... arguments) {
  absl::MutexLock lock(&mu_);
  Family& family = Find(name);
  if (std::holds_alternative<std::monostate>(family.kind)) {
    family.kind = std::make_unique<Kind>(std::move(arguments)...);
  }
  return std::get<std::unique_ptr<Kind>>(family.kind).get();
}

CounterFamily* MetricsRegistry::AddCounter(absl::string_view name,
                                           std::vector<std::string> labels) {
  return Add<CounterFamily>(name, std::string(name), std::move(labels), std::vector<double>());
}

GaugeFamily* MetricsRegistry::AddGauge(absl::string_view name, std::vector<std::string> labels) {
  return Add<GaugeFamily>(name, std::string(name), std::move(labels), std::vector<double>());
}

HistogramFamily* MetricsRegistry::AddHistogram(absl::string_view name,
                                               std::vector<std::string> labels,
                                               std::vector<double> bounds) {
  return Add<HistogramFamily>(name, std::string(name), std::move(labels), std::move(bounds));
}

PassingCounterFamily* MetricsRegistry::AddPassingCounter(absl::string_view name,
                                                         std::vector<std::string> labels) {
  return Add<PassingCounterFamily>(name, std::move(labels), std::vector<double>());
}

PassingHistogramFamily* MetricsRegistry::AddPassingHistogram(absl::string_view name,
                                                             std::vector<std::string> labels,
                                                             std::vector<double> bounds) {
  return Add<PassingHistogramFamily>(name, std::move(labels), std::move(bounds));
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

std::unique_ptr<MetricsRegistry::Collection> MetricsRegistry::CollectGauge(
    absl::string_view name, std::vector<std::string> labels, Collect collect) {
  absl::MutexLock lock(&mu_);
  Family& family = Find(name);
  family.kind = Family::Collected{std::move(labels), std::move(collect)};
  return std::make_unique<Collection>(this, &family);
}

MetricsRegistry::Collection::~Collection() {
  absl::MutexLock lock(&registry_->mu_);
  std::get<Family::Collected>(family_->kind).collect = nullptr;
}

std::string MetricsRegistry::RenderMetrics() const {
  std::string page;
  absl::MutexLock lock(&mu_);
  for (const auto& [name, family] : families_) {
    const auto render = [&page, &name = name](const auto& kind) {
      using Kind = std::decay_t<decltype(kind)>;
      if constexpr (std::is_same_v<Kind, Family::Collected>) {
        RenderType(name, "gauge", &page);
        if (kind.collect == nullptr) return;
        for (const Sample& sample : kind.collect()) {
          absl::StrAppend(&page, name, "{", PrintedLabels(kind.labels, sample.values), "} ",
                          sample.value, "\n");
        }
      } else if constexpr (!std::is_same_v<Kind, std::monostate>) {
        RenderFamily(name, *kind, &page);
      }
    };
    std::visit(render, family->kind);
  }
  return page;
}

std::optional<int64_t> MetricsRegistry::FirstValue(absl::string_view name) const {
  absl::MutexLock lock(&mu_);
  auto it = families_.find(PrintedName(name));
  if (it == families_.end()) return std::nullopt;
  const auto& kind = it->second->kind;
  if (const auto* counter = std::get_if<std::unique_ptr<CounterFamily>>(&kind)) {
    if ((*counter)->name() == name) return FirstValueOf(**counter);
  } else if (const auto* gauge = std::get_if<std::unique_ptr<GaugeFamily>>(&kind)) {
    if ((*gauge)->name() == name) return FirstValueOf(**gauge);
  }
  return std::nullopt;
}

}  // namespace tessera::serving
