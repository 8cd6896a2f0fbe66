#include "serving/admission/limits_config.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

constexpr int64_t kNoMaximum = std::numeric_limits<int64_t>::max();
// A day. A longer timeout is a mistake in its unit.
constexpr int64_t kMaxTimeoutMs = 86'400'000;
constexpr int64_t kMaxShare = 1000;

}  // namespace

std::vector<LimitsConfigError> CheckLimitsConfig(const LimitsConfig& config) {
  const struct {
    const char* field;
    bool is_set;
    int64_t value, low, high;
  } kRanges[] = {
      {"max_concurrent_requests", config.has_max_concurrent_requests(),
       config.max_concurrent_requests(), 1, kNoMaximum},
      {"max_queue", config.has_max_queue(), config.max_queue(), 0, kNoMaximum},
      {"timeout_ms", config.has_timeout_ms(), config.timeout_ms(), 1, kMaxTimeoutMs},
      {"max_request_bytes", config.has_max_request_bytes(), config.max_request_bytes(), 1,
       kNoMaximum},
      {"share", config.has_share(), config.share(), 1, kMaxShare},
  };
  std::vector<LimitsConfigError> errors;
  for (const auto& range : kRanges) {
    if (!range.is_set || (range.value >= range.low && range.value <= range.high)) continue;
    errors.push_back(
        {range.field, range.high == kNoMaximum
                          ? absl::StrCat("is ", range.value, "; it must be at least ", range.low)
                          : absl::StrCat("is ", range.value, "; it must be from ", range.low,
                                         " to ", range.high)});
  }
  if (config.has_max_queue() && !config.has_max_concurrent_requests()) {
    errors.push_back(
        {"max_queue", "needs max_concurrent_requests, because nothing waits without it"});
  }
  return errors;
}

}  // namespace tessera::serving
