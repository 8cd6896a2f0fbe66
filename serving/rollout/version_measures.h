// VersionMeasurer: what is measured of the live version and of the candidate of one model over a
// sliding window, and of the candidate's answers to mirrored requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "serving/servables/inference_request.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Measures one version. Thread-safe; Record() takes no lock and allocates nothing.
class VersionMeasurer {
 public:
  // `window` is that of the conditions. `output`, see RolloutConditions.output.
  VersionMeasurer(absl::Duration window, std::string output);
  ~VersionMeasurer();

  // An answered request, at time `now`. CANCELLED counts neither as a request nor as an error.
  void Record(absl::Time now, const absl::Status& status, absl::Duration latency,
              absl::Span<const NamedOutput> outputs);
  // A mirrored request that live answered: the candidate's answer beside live's.
  void RecordComparison(absl::Time now, absl::Span<const NamedOutput> live,
                        const absl::Status& status, absl::Span<const NamedOutput> candidate);
  void RecordDropped(absl::Time now);

  // What was measured in the window that ends now.
  VersionMeasures Measures(absl::Time now) const;
  // Forgets all, because the candidate is another one or a step begins.
  void Reset();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serving
