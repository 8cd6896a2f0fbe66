// Judge: whether what was measured of a candidate keeps to its conditions. A function of numbers.
#pragma once

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
  // times that of version 3, over the limit of 1.5 (512 requests in 60 s)".
  std::string reason;
};

// `conditions` have their defaults filled in, see WithDefaults().
Verdict Judge(const RolloutConditions& conditions, int64_t live_version,
              const VersionMeasures& live, const VersionMeasures& candidate);

}  // namespace tessera::serving
