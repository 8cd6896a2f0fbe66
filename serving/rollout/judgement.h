// Judge: whether what was measured of a candidate keeps to its conditions. A function of numbers.
//
//   const RolloutConditions conditions = WithDefaults(config.conditions());
//   Verdict verdict = Judge(conditions, 3, live.Measures(now), candidate.Measures(now));
//   if (verdict.judgement == Judgement::kFail) RollBack(verdict.reason);
//
// A few requests say little: of 100, the slowest two alone decide what the 99th percentile is, and
// a candidate is judged again and again. Therefore a limit is broken only if chance hardly explains
// it, and a share or a quantile counts at its lower bound, three standard errors below what was
// measured. By that, p99 of 100 requests is over a limit if the slowest four of them are, and an
// error rate is 1 % over live's if four of 100 fail and none of live's do. With thousands of
// requests the bound is close to what was measured.
//
// The candidate's share of errors is compared with live's, because both versions get the mistakes
// of clients. Live's share counts as measured if live had min_requests, and so does that of its
// answers with a NaN. With less it counts at its lower bound, too, which is close to zero: one
// error in two requests of live is no reason to forgive the candidate four in ten. To compare
// bound with bound always would not do: at equal numbers of requests both are equally far below,
// and differences that are due to chance would break the limit.
//
// A latency that is less than a quarter of a millisecond above live's is never too high: a version
// with a small share of the traffic finds the caches of the processor cold.
//
// What is relative to live needs live to be measured: ratios of latencies are judged only if both
// versions have min_requests.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/rollout.pb.h"

namespace tessera::serving {

enum class Judgement {
  kTooFew,  // not enough requests for a judgement
  kPass,
  kFail,
};

struct Verdict {
  Judgement judgement = Judgement::kTooFew;
  // A sentence with the numbers, the first limit that was broken among them: "p99 is 41.2 ms, 2.3
  // times that of version 3 (at least 1.9), over the limit of 1.5 (512 requests in 60 s)".
  std::string reason;
};

// Returns the conditions with the defaults that rollout.proto names in place of unset fields.
RolloutConditions WithDefaults(RolloutConditions conditions);

// `conditions` have their defaults filled in.
//
// kFail: a limit is broken, each judged by min_requests of its own kind at least: requests, answers
// checked, or mirrored requests. kTooFew: no limit is broken, and the candidate has not had
// min_requests, or a limit of the comparisons is set and mirrored requests are too few for it while
// live has min_requests. kPass: all limits are kept. Where requests to live are not mirrored any
// more, `are_mirrored` is false, and no comparisons are waited for.
//
// Errors of clients count against either version alike. A share of 100 % leaves live no requests:
// `live` should then be what it was when live had them, or else all of the candidate's errors are
// taken for its own.
Verdict Judge(const RolloutConditions& conditions, int64_t live_version,
              const VersionMeasures& live, const VersionMeasures& candidate,
              bool are_mirrored = true);

}  // namespace tessera::serving
