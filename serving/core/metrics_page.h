// The text of the monitoring page, in the layout of TensorFlow Serving.
//
// prometheus::TextSerializer prints the same data in another layout: samples without labels lack
// "{}", bounds and sums have 16 digits, labels are in the order of the alphabet. Scripts compare
// the page with that of TensorFlow Serving as text, so it is printed here.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// "/tensorflow/serving/request_count" becomes ":tensorflow:serving:request_count": each character
// outside [a-zA-Z0-9_] becomes ':'.
std::string PrintedName(absl::string_view name);

// Each character of a label name outside [a-zA-Z0-9] becomes '_'; a name that starts with a digit
// gets a '_' in front.
std::string PrintedLabel(absl::string_view label);

// Returns the value of a label, "" if the metric lacks it.
absl::string_view LabelValue(const prometheus::ClientMetric& metric, absl::string_view label);

// Appends the "# TYPE" line of a family, then the samples of its metrics in their order. Requires a
// counter, a gauge or a histogram. `labels` are the names of the family's labels in the order in
// which they are printed. A label value may be any bytes, since clients make them up: what
// Prometheus would reject is escaped.
void AppendFamily(const prometheus::MetricFamily& family, const std::vector<std::string>& labels,
                  std::string* page);

}  // namespace tessera::serving
