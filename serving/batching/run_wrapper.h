// RunWrapper: stands between the requests to a version and its compiled runs. Batching is one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace tessera::serving {

// The first dimensions of the inputs and outputs of a run, as its signature declares them.
enum class RunRows {
  kAny,    // each may have any number of rows
  kFixed,  // one has a fixed number of rows, or no dimension: the rows are not those of requests
};

// Belongs to one loaded version. Thread-safe.
class RunWrapper {
 public:
  virtual ~RunWrapper() = default;

  // Returns a callable with the same signature that requests run in place of `callable`. Called
  // once for each compiled run. The returned callable may outlive the wrapper.
  virtual absl::StatusOr<std::shared_ptr<const Callable>> Wrap(
      std::shared_ptr<const Callable> callable, RunRows rows) = 0;

  // Returns true if a request that came now might wait for others. Such a request should not run on
  // a thread that reads requests.
  virtual bool MayWait() const = 0;

  // Returns the numbers of rows that runs are likely to have, in ascending order. Warm-up asks
  // these.
  virtual std::vector<int64_t> LikelyRows() const = 0;

  // Tells that the version is loaded and warm. From now on requests come from clients.
  virtual void StartServing() = 0;
  // Tells that the version will be unloaded. Hardly any requests will come from now on, and waiting
  // ones should end soon.
  virtual void BeginDraining() = 0;
};

}  // namespace tessera::serving
