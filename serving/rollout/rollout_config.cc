#include "serving/rollout/rollout_config.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "serving/rollout/judgement.h"

namespace tessera::serving {
namespace {

using Error = RolloutConfigError;

constexpr double kAllTraffic = 100;
constexpr double kDefaultShares[] = {1, 10, 50, kAllTraffic};
constexpr double kDefaultStepSeconds = 60;

constexpr double kMaxStepSeconds = 365 * 86400.0;
constexpr double kMaxWindowSeconds = 86400;
constexpr double kNoMaximum = std::numeric_limits<double>::max();
constexpr size_t kMaxKeyLength = 128;

// Checks that a number is in [low, high]. NaN is not.
std::optional<Error> CheckRange(const std::string& field, double value, double low, double high) {
  if (value >= low && value <= high) return std::nullopt;
  return Error{field, high == kNoMaximum
                          ? absl::StrCat("is ", value, "; it must be at least ", low)
                          : absl::StrCat("is ", value, "; it must be from ", low, " to ", high)};
}

std::optional<Error> CheckSteps(const RolloutConfig& config) {
  double last_share = 0;
  for (int i = 0; i < config.steps_size(); ++i) {
    const std::string step = absl::StrCat("steps[", i, "].");
    const double share = config.steps(i).share_percent();
    if (!(share > last_share && share <= kAllTraffic)) {
      return Error{step + "share_percent",
                   absl::StrCat("is ", share, "; it must be above ", last_share,
                                i == 0 ? "" : ", the share of the step before,", " and at most ",
                                kAllTraffic)};
    }
    last_share = share;
    if (auto error = CheckRange(step + "duration_seconds", config.steps(i).duration_seconds(), 0,
                                kMaxStepSeconds)) {
      return error;
    }
  }
  return std::nullopt;
}

std::optional<Error> CheckConditions(const RolloutConfig& config) {
  const RolloutConditions& conditions = config.conditions();
  if (conditions.has_window_seconds()) {
    const double window = conditions.window_seconds();
    if (!(window > 0 && window <= kMaxWindowSeconds)) {
      return Error{
          "conditions.window_seconds",
          absl::StrCat("is ", window, "; it must be above 0 and at most ", kMaxWindowSeconds)};
    }
  }
  if (conditions.has_min_requests() && conditions.min_requests() < 1) {
    return Error{"conditions.min_requests",
                 absl::StrCat("is ", conditions.min_requests(), "; it must be at least 1")};
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
    if (auto error = CheckRange(field, limit.value, 0, limit.high)) return error;
    if (limit.is_of_drift && config.mirror_percent() == 0) {
      return Error{field, "compares answers to mirrored requests; set mirror_percent as well"};
    }
  }
  return std::nullopt;
}

std::optional<Error> CheckStickyKey(const std::string& key) {
  if (key.size() > kMaxKeyLength) {
    return Error{"sticky_key", absl::StrCat("is longer than ", kMaxKeyLength, " characters")};
  }
  for (const char c : key) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.') continue;
    return Error{"sticky_key",
                 "is no name of a header; letters, digits, '-', '_' and '.' may stand in one"};
  }
  const std::string lower = absl::AsciiStrToLower(key);
  if (absl::EndsWith(lower, "-bin") || absl::StartsWith(lower, "grpc-")) {
    return Error{"sticky_key",
                 absl::StrCat("is '", key,
                              "'; gRPC keeps names that begin with grpc- or end in -bin for other "
                              "uses, choose another one")};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> CheckRolloutConfig(const RolloutConfig& config) {
  if (auto error = CheckSteps(config)) return error;
  if (auto error = CheckRange("mirror_percent", config.mirror_percent(), 0, 100)) return error;
  if (auto error = CheckConditions(config)) return error;
  return CheckStickyKey(config.sticky_key());
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
