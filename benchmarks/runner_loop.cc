#include "benchmarks/runner_loop.h"

#include <chrono>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"

namespace tessera {

absl::Status AnswerLines(
    absl::FunctionRef<absl::StatusOr<std::string>(const std::string& line)> answer) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  for (std::string line; std::getline(std::cin, line);) {
    ASSIGN_OR_RETURN(const std::string text, answer(line));
    std::cout << text << std::endl;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TimeRuns(const std::string& line,
                                     absl::FunctionRef<absl::Status()> run) {
  int runs = 0;
  if (!absl::SimpleAtoi(line, &runs)) {
    return absl::InvalidArgumentError(absl::StrCat("'", line, "' is no command"));
  }
  std::string times;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(run());
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start;
    absl::StrAppend(&times, times.empty() ? "" : " ", taken.count());
  }
  return times;
}

int RunnerMain(int argc, char** argv, absl::string_view usage,
               absl::FunctionRef<absl::Status(const std::string& path, int threads)> main) {
  int threads = 1;
  absl::string_view last = argc == 3 ? argv[2] : "";
  const bool has_threads = absl::ConsumePrefix(&last, "--threads=");
  if (argc < 2 || argc > 3 || (argc == 3 && !(has_threads && absl::SimpleAtoi(last, &threads)))) {
    std::cerr << "usage: " << usage << "\n";
    return 2;
  }
  const absl::Status status = main(argv[1], threads);
  if (status.ok()) return 0;
  std::cerr << usage.substr(0, usage.find(' ')) << ": " << status << "\n";
  return 1;
}

}  // namespace tessera
