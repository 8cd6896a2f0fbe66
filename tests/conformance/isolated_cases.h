// Runs cases in child processes, so that one that crashes does not take the others with it.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace tessera {

struct Outcome {
  enum Kind { kPassed, kFailed, kSkipped } kind = kPassed;
  std::string text;  // why it failed or was skipped
};

struct Isolation {
  int jobs = 2;  // processes at once
  // The process of a case that takes longer is killed: a kernel may wait for ever, on a GPU too.
  absl::Duration case_limit = absl::InfiniteDuration();
  // Cases that have not begun by then are skipped.
  absl::Duration total_limit = absl::InfiniteDuration();
};

// The lines of a usage message for the flags that ParseIsolationFlag() reads.
inline constexpr char kIsolationUsage[] =
    "  --jobs=N   processes at once (2)\n"
    "  --case_seconds=N  a case that takes longer fails, and its process is killed\n"
    "  --seconds=N       cases that have not begun by then are skipped\n";

// Takes `arg` if it is one of these flags; returns false if it is not, or if its number is wrong.
bool ParseIsolationFlag(absl::string_view arg, Isolation* isolation);

// Calls check(i) for every i in [0, num_cases), each in a process forked from this one, which must
// not have threads yet. A case whose process dies has failed, and another process goes on with the
// next one. So it does after a case that failed: what that has broken, such as a GPU that is lost
// after a fault in a kernel, fails no other case. Temporary files of the cases, those in $TMPDIR,
// are removed in the end.
std::vector<Outcome> RunIsolated(int num_cases, const Isolation& isolation,
                                 absl::FunctionRef<Outcome(int)> check);

}  // namespace tessera
