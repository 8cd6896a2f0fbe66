// Replays the golden corpus on the runtime, in process:
//
//   check_ops DIR [NAME...] [--known_missing=FILE] [--verbose] [--all] [--jobs=N]
//             [--case_seconds=N] [--seconds=N]
//
// DIR holds ops/*.pb, graphs/*.pb, or both. A NAME is an op or a graph and may have wildcards.
// Every case runs on both executors, and what its op's shape function says is compared with the
// shapes that came out. Cases run in child processes: one that crashes is reported as
// failed, and the rest goes on. Cases that need an op without a kernel are skipped.
#include <fnmatch.h>

#include <iostream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"
#include "tests/conformance/golden_corpus.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/shape_facts.h"

namespace tessera {
namespace {

struct Flags {
  std::string directory;
  std::vector<std::string> names;
  absl::optional<std::string> known_missing;
  bool verbose = false;
  bool show_all = false;
  Isolation isolation;
};

constexpr char kUsage[] =
    "usage: check_ops DIR [NAME...] [--known_missing=FILE] [--verbose] [--all] [FLAG...]\n"
    "  DIR        a golden corpus: ops/*.pb and graphs/*.pb, or one of them\n"
    "  NAME       an op or a graph, may have wildcards; all if none is given\n"
    "  --known_missing=FILE  the ops that have no kernel, one a line; cases of another op without\n"
    "                        a kernel fail, and so does an op of the list that has one\n"
    "  --verbose  print every case before it runs\n"
    "  --all      print every failure, not only the first few of each op\n";

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (absl::StartsWith(arg, "--known_missing=")) {
      flags.known_missing = arg.substr(16);
    } else if (arg == "--verbose") {
      flags.verbose = true;
    } else if (arg == "--all") {
      flags.show_all = true;
    } else if (absl::StartsWith(arg, "--")) {
      if (!ParseIsolationFlag(arg, &flags.isolation)) {
        return absl::InvalidArgumentError(absl::StrCat("no such flag or number: ", arg));
      }
    } else if (flags.directory.empty()) {
      flags.directory = arg;
    } else {
      flags.names.push_back(arg);
    }
  }
  if (flags.directory.empty()) return absl::InvalidArgumentError("no directory is given");
  return flags;
}

// Files of DIR/`sub` whose names are wanted; none if there is no such folder.
std::vector<std::string> FilesOf(const Flags& flags, const std::string& sub) {
  const std::string directory = JoinPath(flags.directory, sub);
  std::vector<std::string> files;
  absl::StatusOr<std::vector<std::string>> entries = ListDirectory(directory);
  if (!entries.ok()) return files;
  for (const std::string& entry : *entries) {
    if (!absl::EndsWith(entry, ".pb")) continue;
    const std::string name = entry.substr(0, entry.size() - 3);
    bool wanted = flags.names.empty();
    for (const std::string& pattern : flags.names) {
      wanted = wanted || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    }
    if (wanted) files.push_back(JoinPath(directory, entry));
  }
  return files;
}

// The ops that may lack a kernel, or none if every op may.
using KnownMissing = absl::optional<std::set<std::string>>;

absl::StatusOr<KnownMissing> ReadKnownMissing(const Flags& flags) {
  if (!flags.known_missing.has_value()) return KnownMissing();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(*flags.known_missing));
  return KnownMissing(
      std::set<std::string>(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())));
}

// Says that a case needs `ops`, which have no kernel.
Outcome Missing(const std::vector<std::string>& ops, const KnownMissing& known) {
  const std::string reason =
      absl::StrCat("no kernel for ", ops.size() == 1 ? "op " : "ops ", absl::StrJoin(ops, ", "));
  for (const std::string& op : ops) {
    if (known.has_value() && known->count(op) == 0) {
      return {Outcome::kFailed, absl::StrCat(reason, ", and ", op, " is not known to lack one")};
    }
  }
  return {Outcome::kSkipped, reason};
}

Outcome Check(const GoldenCase& golden, const KnownMissing& known_missing) {
  const std::string contradiction = ShapeContradiction(golden);
  if (!contradiction.empty()) return {Outcome::kFailed, contradiction};
  const std::vector<std::string> missing = OpsWithoutKernel(golden);
  if (!missing.empty()) return Missing(missing, known_missing);
  // Whole graphs may need the dataflow executor: there the first way lets the runtime choose.
  const bool is_op = golden.group != "graphs";
  const std::string first =
      Replay(golden, is_op ? ExecutorKind::kStraightThrough : ExecutorKind::kAuto,
             /*optimize=*/true);
  // Asynchronous kernels do not run straight through, which is no failure.
  const bool only_dataflow = is_op && absl::StrContains(first, "needs the dataflow executor");
  if (!first.empty() && !only_dataflow) return {Outcome::kFailed, first};
  const std::string second = Replay(golden, ExecutorKind::kDataflow, /*optimize=*/false);
  if (!second.empty()) return {Outcome::kFailed, absl::StrCat("[dataflow] ", second)};
  return {};
}

// Prints a line for each op of `known` that has a kernel after all, and returns their number.
int ReportOutdated(const KnownMissing& known) {
  int outdated = 0;
  if (!known.has_value()) return outdated;
  for (const std::string& op : *known) {
    if (!KernelRegistry::Global().HasKernel(op)) continue;
    std::cout << op << " has a kernel: take it off the list of ops without one\n";
    ++outdated;
  }
  return outdated;
}

int Report(const std::vector<GoldenCase>& cases, const std::vector<Outcome>& outcomes, int outdated,
           const Flags& flags) {
  constexpr int kShownOfOne = 3;
  int passed = 0, failed = outdated, skipped = 0;
  std::map<std::string, std::pair<int, int>> by_group;  // failed, all
  std::map<std::string, int> reasons;                   // reason -> cases skipped for it
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    ++by_group[cases[i].group].second;
    switch (outcome.kind) {
      case Outcome::kPassed:
        ++passed;
        break;
      case Outcome::kFailed:
        ++failed;
        ++by_group[cases[i].group].first;
        break;
      case Outcome::kSkipped:
        ++skipped;
        ++reasons[outcome.text];
        break;
    }
  }
  std::map<std::string, int> shown;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].kind != Outcome::kFailed) continue;
    const std::string& group = cases[i].group;
    const int number = shown[group]++;
    if (number == 0) {
      std::cout << group << ": " << by_group[group].first << " of " << by_group[group].second
                << " failed\n";
    }
    const bool is_graph = group == "graphs";
    if (flags.show_all || is_graph || number < kShownOfOne) {
      std::cout << "  " << cases[i].name << ": " << outcomes[i].text << "\n";
    } else if (number == kShownOfOne) {
      std::cout << "  ... (--all shows the rest)\n";
    }
  }
  for (const auto& [reason, count] : reasons) std::cout << count << " skipped: " << reason << "\n";
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped" << std::endl;
  return failed == 0 ? 0 : 1;
}

absl::StatusOr<int> Main(const Flags& flags) {
  ASSIGN_OR_RETURN(const KnownMissing known_missing, ReadKnownMissing(flags));
  std::vector<GoldenCase> cases;
  for (const std::string& file : FilesOf(flags, "ops")) {
    ASSIGN_OR_RETURN(std::vector<GoldenCase> read, ReadOpCases(file));
    for (GoldenCase& golden : read) cases.push_back(std::move(golden));
  }
  for (const std::string& file : FilesOf(flags, "graphs")) {
    ASSIGN_OR_RETURN(GoldenCase read, ReadGraphCase(file));
    cases.push_back(std::move(read));
  }
  if (cases.empty()) {
    return absl::NotFoundError(absl::StrCat("no cases in ", flags.directory,
                                            flags.names.empty() ? "" : " of these names"));
  }
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(cases.size()), flags.isolation, [&](int i) {
        if (flags.verbose) std::cerr << cases[i].group << " " << cases[i].name << std::endl;
        return Check(cases[i], known_missing);
      });
  return Report(cases, outcomes, ReportOutdated(known_missing), flags);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  absl::StatusOr<tessera::Flags> flags = tessera::ParseFlags(argc, argv);
  if (!flags.ok()) {
    std::cerr << "check_ops: " << flags.status().message() << "\n"
              << tessera::kUsage << tessera::kIsolationUsage;
    return 2;
  }
  absl::StatusOr<int> result = tessera::Main(*flags);
  if (!result.ok()) {
    std::cerr << "check_ops: " << result.status().message() << "\n";
    return 2;
  }
  return *result;
}
