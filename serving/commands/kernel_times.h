// Measures which kernels a model runs, and how its time is divided among them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera::serving {

// All executions of the nodes that share op, device and dtype.
struct KernelTime {
  std::string op;
  std::string device;  // "CPU:0"
  std::string dtype;   // of the first output; empty if there is none
  int64_t nodes = 0;   // that ran at least once
  int64_t nanoseconds = 0;
  double share = 0;  // of the time of all kernels, from 0 to 1
};

struct KernelTimes {
  std::vector<KernelTime> kernels;  // the longest time first
  // Runs that were measured. 0 if no signature may be run without an effect, or fits made-up
  // inputs.
  int64_t runs = 0;
};

// Loads the meta graph with these tags as TrialLoad() does, and measures the requests of its
// warm-up. What runs is the graph after the passes that fold and fuse ops, so that ops may have
// other names than in the model, and some none at all. The first run of each signature is left out,
// since it prepares what later ones use. Errors: those of TrialLoad().
absl::StatusOr<KernelTimes> MeasureKernels(const std::string& directory,
                                           const std::set<std::string>& tags);

}  // namespace tessera::serving
