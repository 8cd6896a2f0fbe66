#include "serving/rollout/judgement.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tessera::serving {
namespace {

// A latency that is higher by less than this is not slower. A version with a small share of the
// traffic finds the caches cold, which makes runs of some tens of microseconds several times as
// long.
constexpr double kNoticeableMicros = 250;

constexpr double kStandardErrors = 3;

// Returns the lower end of Wilson's interval for a share that was measured in `n` cases.
// E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
double LowerBound(double share, int64_t n) {
  if (n == 0) return 0;
  const double z2 = kStandardErrors * kStandardErrors / static_cast<double>(n);
  const double middle = share + z2 / 2;
  const double error = std::sqrt(z2 * (share * (1 - share) + z2 / 4));
  return std::max(0.0, (middle - error) / (1 + z2));
}

// Returns 0.0123 as "1.23 %".
std::string Percent(double share) { return absl::StrFormat("%.3g %%", 100 * share); }

std::string Time(double micros) {
  if (micros < 1e3) return absl::StrFormat("%.3g us", micros);
  if (micros < 1e6) return absl::StrFormat("%.3g ms", micros / 1e3);
  return absl::StrFormat("%.3g s", micros / 1e6);
}

// Judges one candidate. Each Check...() returns the sentence of a broken limit.
class Judging {
 public:
  using Broken = std::optional<std::string>;

  Judging(const RolloutConditions& conditions, int64_t live_version, const VersionMeasures& live,
          const VersionMeasures& candidate, bool are_mirrored)
      : conditions_(conditions),
        version_(absl::StrCat("version ", live_version)),
        live_(live),
        candidate_(candidate),
        are_mirrored_(are_mirrored) {}

  Broken CheckErrors() const {
    if (!IsEnough(candidate_.requests())) return std::nullopt;
    const double limit =
        LiveShare(live_.error_rate(), live_.requests()) + conditions_.max_error_rate_increase();
    if (LowerBound(candidate_.error_rate(), candidate_.requests()) <= limit) return std::nullopt;
    return absl::StrCat("error rate is ", Percent(candidate_.error_rate()), ", that of ", version_,
                        " is ", Percent(live_.error_rate()), ", over the limit of ",
                        Percent(conditions_.max_error_rate_increase()), " more", Requests());
  }

  Broken CheckMirrorErrors() const {
    const int64_t mirrored = candidate_.compared() + candidate_.mirror_errors();
    if (!IsEnough(mirrored)) return std::nullopt;
    const double share =
        static_cast<double>(candidate_.mirror_errors()) / static_cast<double>(mirrored);
    if (LowerBound(share, mirrored) <= conditions_.max_error_rate_increase()) return std::nullopt;
    return absl::StrCat(Percent(share), " of the mirrored requests that ", version_,
                        " answered failed, over the limit of ",
                        Percent(conditions_.max_error_rate_increase()), Of(mirrored, "mirrored"));
  }

  Broken CheckNonFinite() const {
    const int64_t checked = candidate_.answers_checked();
    if (!IsEnough(checked)) return std::nullopt;
    const double limit = std::max(conditions_.max_non_finite_share(),
                                  LiveShare(live_.non_finite_share(), live_.answers_checked()));
    if (LowerBound(candidate_.non_finite_share(), checked) <= limit) return std::nullopt;
    return absl::StrCat("NaN or infinities are in ", Percent(candidate_.non_finite_share()),
                        " of the answers, in ", Percent(live_.non_finite_share()), " of those of ",
                        version_, ", over the limit of ",
                        Percent(conditions_.max_non_finite_share()), Of(checked, "answers"));
  }

  Broken CheckLatency() const {
    if (!IsEnough(Succeeded(candidate_)) || !IsEnough(Succeeded(live_))) return std::nullopt;
    if (conditions_.has_max_p50_ratio()) {
      if (Broken broken = CheckRatio("p50", candidate_.p50_micros(), candidate_.p50_low_micros(),
                                     live_.p50_micros(), conditions_.max_p50_ratio())) {
        return broken;
      }
    }
    if (!conditions_.has_max_p99_ratio()) return std::nullopt;
    return CheckRatio("p99", candidate_.p99_micros(), candidate_.p99_low_micros(),
                      live_.p99_micros(), conditions_.max_p99_ratio());
  }

  Broken CheckDrift() const {
    if (!IsEnough(candidate_.compared())) return std::nullopt;
    if (const int64_t mismatched = candidate_.mismatched();
        mismatched > 0 && ComparesAnswers(conditions_)) {
      return absl::StrCat(mismatched, " of ", candidate_.compared(),
                          " mirrored answers have outputs of other names, types or shapes than "
                          "those of ",
                          version_);
    }
    if (conditions_.has_max_mean_abs_difference() && candidate_.has_mean_abs_difference() &&
        candidate_.mean_abs_difference() > conditions_.max_mean_abs_difference()) {
      return absl::StrFormat(
          "answers differ from those of %s by %.3g in the mean, over the limit "
          "of %.3g%s",
          version_, candidate_.mean_abs_difference(), conditions_.max_mean_abs_difference(),
          Compared());
    }
    if (conditions_.has_min_top1_agreement() && candidate_.has_top1_agreement() &&
        candidate_.top1_agreement() < conditions_.min_top1_agreement()) {
      return absl::StrCat("top-1 agreement with ", version_, " is ",
                          Percent(candidate_.top1_agreement()), ", below the limit of ",
                          Percent(conditions_.min_top1_agreement()), Compared());
    }
    if (conditions_.has_max_psi() && candidate_.has_psi() &&
        candidate_.psi() > conditions_.max_psi()) {
      return absl::StrFormat("PSI of the outputs against %s is %.3g, over the limit of %.3g%s",
                             version_, candidate_.psi(), conditions_.max_psi(), Compared());
    }
    return std::nullopt;
  }

  // Returns what there is too little of for the candidate to pass; nullopt if there is enough.
  std::optional<std::string> WhatIsMissing() const {
    if (!IsEnough(candidate_.requests())) {
      return absl::StrCat(candidate_.requests(), " of ", conditions_.min_requests(),
                          " requests so far in ", Window());
    }
    const bool may_be_compared = are_mirrored_ && IsEnough(live_.requests());
    if (!ComparesAnswers(conditions_) || !may_be_compared) return std::nullopt;
    if (!IsEnough(candidate_.compared())) {
      return absl::StrCat(candidate_.compared(), " of ", conditions_.min_requests(),
                          " mirrored requests compared so far in ", Window(), ", ",
                          candidate_.mirror_dropped(), " dropped");
    }
    const bool difference_lacks =
        conditions_.has_max_mean_abs_difference() && !candidate_.has_mean_abs_difference();
    const bool agreement_lacks =
        conditions_.has_min_top1_agreement() && !candidate_.has_top1_agreement();
    const bool psi_lacks = conditions_.has_max_psi() && !candidate_.has_psi();
    if (!difference_lacks && !agreement_lacks && !psi_lacks) return std::nullopt;
    return absl::StrCat("the outputs that were compared have ",
                        difference_lacks  ? "no numbers for a mean difference"
                        : agreement_lacks ? "no rows for a top-1 agreement"
                                          : "too few values for a PSI",
                        Compared());
  }

  std::string Passed() const {
    std::string text =
        absl::StrCat("all limits are kept: error rate ", Percent(candidate_.error_rate()),
                     ", that of ", version_, " ", Percent(live_.error_rate()));
    if (Succeeded(candidate_) > 0 && Succeeded(live_) > 0) {
      absl::StrAppend(&text, ", p99 ", Time(candidate_.p99_micros()), " and ",
                      Time(live_.p99_micros()));
    }
    return text + Requests();
  }

 private:
  static int64_t Succeeded(const VersionMeasures& measures) {
    return measures.requests() - measures.errors();
  }
  static bool ComparesAnswers(const RolloutConditions& conditions) {
    return conditions.has_max_mean_abs_difference() || conditions.has_min_top1_agreement() ||
           conditions.has_max_psi();
  }
  bool IsEnough(int64_t n) const { return n > 0 && n >= conditions_.min_requests(); }
  // Returns what a share that was measured of live in `n` cases counts as.
  double LiveShare(double share, int64_t n) const {
    return IsEnough(n) ? share : LowerBound(share, n);
  }

  Broken CheckRatio(absl::string_view name, double micros, double low_micros, double live_micros,
                    double limit) const {
    if (low_micros <= limit * live_micros) return std::nullopt;
    if (low_micros - live_micros < kNoticeableMicros) return std::nullopt;
    return absl::StrFormat(
        "%s is %s, %.2g times that of %s (at least %.2g), over the limit of "
        "%.3g%s",
        name, Time(micros), micros / live_micros, version_, low_micros / live_micros, limit,
        Requests());
  }

  std::string Window() const { return absl::StrFormat("%.3g s", conditions_.window_seconds()); }
  std::string Of(int64_t n, absl::string_view what) const {
    return absl::StrCat(" (", n, " ", what, " in ", Window(), ")");
  }
  std::string Requests() const { return Of(candidate_.requests(), "requests"); }
  std::string Compared() const { return Of(candidate_.compared(), "compared"); }

  const RolloutConditions& conditions_;
  const std::string version_;
  const VersionMeasures& live_;
  const VersionMeasures& candidate_;
  const bool are_mirrored_;
};

}  // namespace

RolloutConditions WithDefaults(RolloutConditions conditions) {
  if (conditions.window_seconds() == 0) conditions.set_window_seconds(60);
  if (conditions.min_requests() == 0) conditions.set_min_requests(100);
  if (!conditions.has_max_error_rate_increase()) conditions.set_max_error_rate_increase(0.01);
  if (!conditions.has_max_p99_ratio()) conditions.set_max_p99_ratio(1.5);
  if (!conditions.has_max_non_finite_share()) conditions.set_max_non_finite_share(0);
  return conditions;
}

Verdict Judge(const RolloutConditions& conditions, int64_t live_version,
              const VersionMeasures& live, const VersionMeasures& candidate, bool are_mirrored) {
  const Judging judging(conditions, live_version, live, candidate, are_mirrored);
  for (const auto check :
       {&Judging::CheckErrors, &Judging::CheckMirrorErrors, &Judging::CheckNonFinite,
        &Judging::CheckLatency, &Judging::CheckDrift}) {
    if (Judging::Broken broken = (judging.*check)()) {
      return {Judgement::kFail, *std::move(broken)};
    }
  }
  if (std::optional<std::string> missing = judging.WhatIsMissing()) {
    return {Judgement::kTooFew, *std::move(missing)};
  }
  return {Judgement::kPass, judging.Passed()};
}

}  // namespace tessera::serving
