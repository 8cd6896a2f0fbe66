// RunWrapper: what stands between a version's requests and its compiled runs; how batching comes
// in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace tessera::serving {

// Belongs to one loaded version. Thread-safe.
class RunWrapper {
 public:
  virtual ~RunWrapper() = default;

  // What requests are to run instead of `callable`, with the same signature. Called once for each
  // compiled run; what it returns may outlive the wrapper.
  virtual absl::StatusOr<std::shared_ptr<const Callable>> Wrap(
      std::shared_ptr<const Callable> callable) = 0;

  // True if a request that came now might wait for others, and so had better not hold up a thread
  // that reads requests.
  virtual bool MayWait() const = 0;

  // Rows that runs are likely to have, for which the version had better be warm; ascending.
  virtual std::vector<int64_t> LikelyRows() const = 0;

  // The version is loaded and warm: from now on requests come from outside.
  virtual void StartServing() = 0;
  // The version is to be unloaded: hardly any further requests will come, and those that are there
  // should end soon.
  virtual void BeginDraining() = 0;
};

}  // namespace tessera::serving
