#include "tests/conformance/check_program.h"

#include <iostream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tessera {
namespace {

// Prints how the cases ended. Returns how many failed.
int Report(const std::vector<std::string>& names, const std::vector<Outcome>& outcomes) {
  int counts[3] = {0, 0, 0};
  std::map<std::string, int> reasons;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ++counts[outcomes[i].kind];
    if (outcomes[i].kind == Outcome::kSkipped) ++reasons[outcomes[i].text];
    if (outcomes[i].kind == Outcome::kFailed) {
      std::cout << "failed " << names[i] << ": " << outcomes[i].text << "\n";
    }
  }
  for (const auto& [reason, count] : reasons) std::cout << count << " skipped: " << reason << "\n";
  std::cout << counts[Outcome::kPassed] << " passed, " << counts[Outcome::kFailed] << " failed, "
            << counts[Outcome::kSkipped] << " skipped" << std::endl;
  return counts[Outcome::kFailed];
}

}  // namespace

int RunCheckProgram(int argc, char** argv,
                    absl::FunctionRef<absl::StatusOr<CheckedCases>(
                        const std::string& directory, const std::vector<std::string>& names)>
                        find) {
  absl::string_view program = argv[0];
  program.remove_prefix(program.rfind('/') + 1);  // of npos, too
  std::vector<std::string> names;
  Isolation isolation;
  bool is_wrong = false;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view arg = argv[i];
    if (!absl::StartsWith(arg, "--")) {
      names.emplace_back(arg);
    } else if (!ParseIsolationFlag(arg, &isolation)) {
      is_wrong = true;
    }
  }
  if (is_wrong || names.empty()) {
    std::cerr << "usage: " << program << " DIR [NAME...] [FLAG...]\n" << kIsolationUsage;
    return 2;
  }
  const std::string directory = names[0];
  names.erase(names.begin());
  const absl::StatusOr<CheckedCases> cases = find(directory, names);
  if (!cases.ok() || cases->names.empty()) {
    std::cerr << program << ": " << (cases.ok() ? "no recorded cases" : cases.status().ToString())
              << "\n";
    return 2;
  }
  const int num_cases = static_cast<int>(cases->names.size());
  return Report(cases->names, RunIsolated(num_cases, isolation, cases->check)) == 0 ? 0 : 1;
}

}  // namespace tessera
