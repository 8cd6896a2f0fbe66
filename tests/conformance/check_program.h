// The program of a check that replays recorded cases: PROGRAM DIR [NAME...] [--jobs=N].
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tests/conformance/isolated_cases.h"

namespace tessera {

struct CheckedCases {
  std::vector<std::string> names;
  std::function<Outcome(int)> check;  // of the case with this index
};

// Finds the cases in DIR, those that NAMEs choose or all if there are none, runs each in a process
// of its own, and prints what failed, the reasons why cases were skipped with their numbers, and
// "N passed, N failed, N skipped". Returns the exit code: 0; 1 if a case failed; 2 for wrong
// arguments and if there are no cases.
int RunCheckProgram(int argc, char** argv,
                    absl::FunctionRef<absl::StatusOr<CheckedCases>(
                        const std::string& directory, const std::vector<std::string>& names)>
                        find);

}  // namespace tessera
