// What the programs share that a benchmark starts and gives its commands line by line.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Answers each line of the standard input with one line, until its end or the first error, which it
// returns. Lock cycles are not looked for, as in the server.
absl::Status AnswerLines(
    absl::FunctionRef<absl::StatusOr<std::string>(const std::string& line)> answer);

// Parses a line that is a number of runs, calls `run` as often, and returns the nanoseconds that
// each call took, in a row. Errors: INVALID_ARGUMENT for another line, and those of `run`.
absl::StatusOr<std::string> TimeRuns(const std::string& line,
                                     absl::FunctionRef<absl::Status()> run);

// The main function of a program with the arguments `PATH [--threads=N]`. Returns the exit status:
// 2 for other arguments, 1 for an error of `main`, which is printed.
int RunnerMain(int argc, char** argv, absl::string_view usage,
               absl::FunctionRef<absl::Status(const std::string& path, int threads)> main);

}  // namespace tessera
