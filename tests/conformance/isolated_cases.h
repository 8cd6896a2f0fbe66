// Runs cases in child processes, so that one that crashes does not take the others with it.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

namespace tessera {

struct Outcome {
  enum Kind { kPassed, kFailed, kSkipped } kind = kPassed;
  std::string text;  // why it failed or was skipped
};

// Calls check(i) for every i in [0, num_cases), `jobs` at once, each in a process forked from this
// one, which must not have threads yet. A case whose process dies has failed, and another process
// goes on with the next one.
std::vector<Outcome> RunIsolated(int num_cases, int jobs, absl::FunctionRef<Outcome(int)> check);

}  // namespace tessera
