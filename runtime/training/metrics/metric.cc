#include "runtime/training/metrics/metric.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/nearest_name.h"
#include "runtime/training/metrics/metric_types.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

absl::Status Refuse(const training::MetricSpec& spec, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("metric '", spec.type(), "' ", what));
}

absl::Status CheckOptions(const training::MetricSpec& spec) {
  const bool is_confusion = spec.type() == "precision" || spec.type() == "recall";
  if (spec.k() < 0) return Refuse(spec, "needs a positive k");
  if (spec.k() > 0 && spec.type() != "top_k_accuracy") return Refuse(spec, "has no k");
  if (spec.has_threshold() && !is_confusion && spec.type() != "accuracy") {
    return Refuse(spec, "has no threshold");
  }
  if (spec.has_class_id() && !is_confusion) return Refuse(spec, "has no class_id");
  if (spec.class_id() < 0) return Refuse(spec, "needs a class_id that is not negative");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> Metric::Make(const training::MetricSpec& spec) {
  if (const absl::Status status = CheckOptions(spec); !status.ok()) return status;
  constexpr double kDefaultThreshold = 0.5;
  constexpr int64_t kDefaultK = 5;
  const std::optional<double> threshold =
      spec.has_threshold() ? std::optional<double>(spec.threshold()) : std::nullopt;
  const std::optional<int64_t> class_id =
      spec.has_class_id() ? std::optional<int64_t>(spec.class_id()) : std::nullopt;
  if (spec.type() == "loss") return MakeMeanLoss();
  if (spec.type() == "accuracy") return MakeAccuracy(threshold);
  if (spec.type() == "top_k_accuracy") {
    return MakeTopKAccuracy(spec.k() == 0 ? kDefaultK : spec.k());
  }
  if (spec.type() == "auc") return MakeAuc();
  if (spec.type() == "precision") {
    return MakePrecision(threshold.value_or(kDefaultThreshold), class_id);
  }
  if (spec.type() == "recall") return MakeRecall(threshold.value_or(kDefaultThreshold), class_id);
  if (spec.type() == "mean_squared_error") return MakeMeanSquaredError();
  if (spec.type() == "mean_absolute_error") return MakeMeanAbsoluteError();
  const std::vector<std::string> known = {
      "loss",      "accuracy", "top_k_accuracy",     "auc",
      "precision", "recall",   "mean_squared_error", "mean_absolute_error"};
  return Refuse(spec, absl::StrCat("does not exist", DidYouMean(spec.type(), known), " (there are ",
                                   absl::StrJoin(known, ", "), ")"));
}

}  // namespace tessera
