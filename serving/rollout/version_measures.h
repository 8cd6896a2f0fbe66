// VersionMeasurer: what is measured of the live version and of the candidate of one model over a
// sliding window, and of the candidate's answers to mirrored requests.
//
//   VersionMeasurer candidate(absl::Seconds(60), /*output=*/"");
//   candidate.Record(absl::Now(), status, latency, result.outputs);      // for each request
//   VersionMeasures measures = candidate.Measures(absl::Now());
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "serving/rollout/answer_excerpt.h"
#include "serving/servables/inference_request.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Measures one version. What was recorded counts for the time of the window, and for at most a
// twelfth of it longer.
//
// Quantiles are those of the requests that succeeded, at a resolution of 1.6 %, up to 137 s.
// Answers are searched for NaN and infinities up to kMaxCheckedElements (non_finite.h). The
// distance between answers is that of AnswerDrift.
//
// Thread-safe. Record() and RecordDropped() take no lock, allocate nothing and wait for nobody. A
// Record() that runs during Reset() may count before or after it.
class VersionMeasurer {
 public:
  // `window` is that of the conditions, at least a millisecond. `output`, see
  // RolloutConditions.output.
  VersionMeasurer(absl::Duration window, std::string output);
  ~VersionMeasurer();

  // An answered request, at time `now`. CANCELLED counts neither as a request nor as an error.
  void Record(absl::Time now, const absl::Status& status, absl::Duration latency,
              absl::Span<const NamedOutput> outputs);

  // A mirrored request that live answered: the candidate's answer, `candidate` if `status` is OK,
  // beside live's.
  void RecordComparison(absl::Time now, const AnswerExcerpt& live, const absl::Status& status,
                        absl::Span<const NamedOutput> candidate);
  // A mirrored request that the candidate was not asked, or did not answer in time.
  void RecordDropped(absl::Time now);

  // Returns the measurements of the window that ends now. Takes some 20 us on two cores.
  VersionMeasures Measures(absl::Time now) const;
  // Forgets all, because the candidate is another one or a step begins.
  void Reset();

  absl::Duration window() const;
  const std::string& output() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serving
