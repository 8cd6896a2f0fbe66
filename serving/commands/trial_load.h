// Loads a model as a server does, to see whether it can be loaded.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "serving/batching/run_wrapper.h"

namespace tessera::serving {

struct TrialLoadOptions {
  // How often each request of warm-up is made.
  int warm_up_runs = 1;
  // Stands between the requests of warm-up and the compiled runs; may be null.
  std::shared_ptr<RunWrapper> wrapper;
};

// Does what a server with default options does to make the meta graph with these tags available:
// restores its variables, runs its init op, and makes the requests of its warm-up, the recorded
// ones if it has some, else zeros that fit its signatures. Then gives everything back. Of the log,
// only warnings and errors are written from then on. Errors: those of SavedModelLoader::Load().
absl::Status TrialLoad(const std::string& directory, const std::set<std::string>& tags,
                       const TrialLoadOptions& options = {});

}  // namespace tessera::serving
