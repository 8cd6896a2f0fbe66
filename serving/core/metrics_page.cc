#include "serving/core/metrics_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tessera::serving {
namespace {

// Returns the size of the UTF-8 character at the beginning of `text`, which is not empty; 0 if the
// bytes there are no valid character.
size_t CharacterSize(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // An overlong encoding, half of a surrogate pair, or a code point above U+10FFFF.
  const bool is_invalid =
      (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
      (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return is_invalid ? 0 : size;
}

// Escapes a label value. Prometheus rejects a whole page that is not UTF-8, so an invalid byte is
// shown as "\\x" with two hexadecimal digits.
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
std::string PrintedLabels(const prometheus::ClientMetric& metric,
                          const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) {
    absl::StrAppend(&text, text.empty() ? "" : ",", label, "=\"");
    AppendEscaped(LabelValue(metric, label), &text);
    text.push_back('"');
  }
  return text;
}

void AppendHistogram(absl::string_view name, const std::string& labels,
                     const prometheus::ClientMetric::Histogram& histogram, std::string* page) {
  const absl::string_view comma = labels.empty() ? "" : ",";
  for (const prometheus::ClientMetric::Bucket& bucket : histogram.bucket) {
    const std::string bound = std::isinf(bucket.upper_bound)
                                  ? std::string("+Inf")
                                  : absl::StrFormat("%.6g", bucket.upper_bound);
    absl::StrAppend(page, name, "_bucket{", labels, comma, "le=\"", bound, "\"} ",
                    bucket.cumulative_count, "\n");
  }
  absl::StrAppend(page, name, "_sum{", labels, "} ", absl::StrFormat("%.6g", histogram.sample_sum),
                  "\n", name, "_count{", labels, "} ", histogram.sample_count, "\n");
}

absl::string_view TypeName(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    default:
      return "histogram";
  }
}

}  // namespace

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

absl::string_view LabelValue(const prometheus::ClientMetric& metric, absl::string_view label) {
  const auto found = std::find_if(metric.label.begin(), metric.label.end(),
                                  [&](const auto& entry) { return entry.name == label; });
  return found == metric.label.end() ? absl::string_view() : found->value;
}

void AppendFamily(const prometheus::MetricFamily& family, const std::vector<std::string>& labels,
                  std::string* page) {
  absl::StrAppend(page, "# TYPE ", family.name, " ", TypeName(family.type), "\n");
  for (const prometheus::ClientMetric& metric : family.metric) {
    const std::string text = PrintedLabels(metric, labels);
    if (family.type == prometheus::MetricType::Histogram) {
      AppendHistogram(family.name, text, metric.histogram, page);
      continue;
    }
    const double value =
        family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
    // 15 digits print whole numbers, such as bytes and times, as they are.
    absl::StrAppend(page, family.name, "{", text, "} ", absl::StrFormat("%.15g", value), "\n");
  }
}

}  // namespace tessera::serving
