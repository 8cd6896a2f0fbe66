#include "serving/rollout/rollout_config.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "serving/rollout/judgement.h"

namespace tessera::serving {
namespace {

using Errors = std::vector<RolloutConfigError>;

constexpr double kAllTraffic = 100;
constexpr double kDefaultShares[] = {1, 10, 50, kAllTraffic};
constexpr double kDefaultStepSeconds = 60;

constexpr double kMaxStepSeconds = 365 * 86400.0;
constexpr double kMaxWindowSeconds = 86400;
constexpr double kNoMaximum = std::numeric_limits<double>::max();
constexpr size_t kMaxKeyLength = 128;

// Checks that a number is in [low, high]. NaN is not.
void CheckRange(const std::string& field, double value, double low, double high, Errors* errors) {
  if (value >= low && value <= high) return;
  errors->push_back(
      {field, high == kNoMaximum
                  ? absl::StrCat("is ", value, "; it must be at least ", low)
                  : absl::StrCat("is ", value, "; it must be from ", low, " to ", high)});
}

void CheckSteps(const RolloutConfig& config, Errors* errors) {
  double last_share = 0;
  for (int i = 0; i < config.steps_size(); ++i) {
    const std::string step = absl::StrCat("steps[", i, "].");
    const double share = config.steps(i).share_percent();
    if (!(share > last_share && share <= kAllTraffic)) {
      errors->push_back(
          {step + "share_percent", absl::StrCat("is ", share, "; it must be above ", last_share,
                                                i == 0 ? "" : ", the share of the step before,",
                                                " and at most ", kAllTraffic)});
    } else {
      last_share = share;
    }
    CheckRange(step + "duration_seconds", config.steps(i).duration_seconds(), 0, kMaxStepSeconds,
               errors);
  }
}

void CheckConditions(const RolloutConfig& config, Errors* errors) {
  const RolloutConditions& conditions = config.conditions();
  if (conditions.has_window_seconds()) {
    const double window = conditions.window_seconds();
    if (!(window > 0 && window <= kMaxWindowSeconds)) {
      errors->push_back(
          {"conditions.window_seconds",
           absl::StrCat("is ", window, "; it must be above 0 and at most ", kMaxWindowSeconds)});
    }
  }
  if (conditions.has_min_requests() && conditions.min_requests() < 1) {
    errors->push_back({"conditions.min_requests",
                       absl::StrCat("is ", conditions.min_requests(), "; it must be at least 1")});
  }
  struct Limit {
    const char* name;
    bool is_set;
    double value;
    double high;
    bool is_of_drift;
  };
  const Limit limits[] = {
      {"max_error_rate_increase", conditions.has_max_error_rate_increase(),
       conditions.max_error_rate_increase(), 1, false},
      {"max_p50_ratio", conditions.has_max_p50_ratio(), conditions.max_p50_ratio(), kNoMaximum,
       false},
      {"max_p99_ratio", conditions.has_max_p99_ratio(), conditions.max_p99_ratio(), kNoMaximum,
       false},
      {"max_non_finite_share", conditions.has_max_non_finite_share(),
       conditions.max_non_finite_share(), 1, false},
      {"max_mean_abs_difference", conditions.has_max_mean_abs_difference(),
       conditions.max_mean_abs_difference(), kNoMaximum, true},
      {"min_top1_agreement", conditions.has_min_top1_agreement(), conditions.min_top1_agreement(),
       1, true},
      {"max_psi", conditions.has_max_psi(), conditions.max_psi(), kNoMaximum, true},
  };
  for (const Limit& limit : limits) {
    if (!limit.is_set) continue;
    const std::string field = absl::StrCat("conditions.", limit.name);
    CheckRange(field, limit.value, 0, limit.high, errors);
    if (limit.is_of_drift && config.mirror_percent() == 0) {
      errors->push_back(
          {field, "compares answers to mirrored requests; set mirror_percent as well"});
    }
  }
}

void CheckStickyKey(const std::string& key, Errors* errors) {
  const auto add = [errors](std::string message) {
    errors->push_back({"sticky_key", std::move(message)});
  };
  if (key.size() > kMaxKeyLength) {
    add(absl::StrCat("is longer than ", kMaxKeyLength, " characters"));
  }
  const bool is_name = std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!is_name) {
    add("is no name of a header; letters, digits, '-', '_' and '.' may stand in one");
  }
  const std::string lower = absl::AsciiStrToLower(key);
  if (absl::EndsWith(lower, "-bin") || absl::StartsWith(lower, "grpc-")) {
    add(absl::StrCat("is '", key,
                     "'; gRPC keeps names that begin with grpc- or end in -bin for other uses, "
                     "choose another one"));
  }
}

}  // namespace

Errors CheckRolloutConfig(const RolloutConfig& config) {
  Errors errors;
  CheckSteps(config, &errors);
  CheckRange("mirror_percent", config.mirror_percent(), 0, 100, &errors);
  CheckConditions(config, &errors);
  CheckStickyKey(config.sticky_key(), &errors);
  return errors;
}

RolloutConfig WithDefaults(RolloutConfig config) {
  if (config.steps().empty()) {
    for (const double share : kDefaultShares) {
      RolloutStep* step = config.add_steps();
      step->set_share_percent(share);
      step->set_duration_seconds(kDefaultStepSeconds);
    }
  }
  if (config.steps(config.steps_size() - 1).share_percent() < kAllTraffic) {
    config.add_steps()->set_share_percent(kAllTraffic);
  }
  *config.mutable_conditions() = WithDefaults(config.conditions());
  if (!config.has_retry_on_stable()) config.set_retry_on_stable(true);
  return config;
}

}  // namespace tessera::serving
