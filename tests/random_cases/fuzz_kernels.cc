// Runs random calls, most of them hostile, on every op with a kernel, under sanitizers: see
// scripts/fuzz. A case runs in a child process, so that one run finds many crashes.
//
//   fuzz_kernels [--seconds=N] [--seed=N] [--first=N] [--count=N] [--op=NAME] [--recorded=DIR]
//                [--crashes=DIR] [--jobs=N]
//
// Prints `SEED NUMBER op: what happened` for each finding, and leaves the case as a text GraphDef
// in the folder of crashes. The exit code is 1 if there were findings.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/host/host.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/random_cases/case_maker.h"
#include "tests/random_cases/run_case.h"

// The address sanitizer's own operator new ends the process where it finds no memory.
void* operator new(size_t size) {
  void* const allocated = std::malloc(size > 0 ? size : 1);
  if (allocated == nullptr) throw std::bad_alloc();
  return allocated;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size > 0 ? size : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace tessera {
namespace {

// A case that takes longer than its alarm hangs. Runs that wait are ended before.
constexpr unsigned kAlarmSeconds = 60;
constexpr absl::Duration kRunTimeout = absl::Seconds(2);
constexpr int kBatch = 2000;

struct Flags {
  int64_t seconds = 60, seed = 1, first = 0, count = -1;
  int jobs = 1;
  std::string op, recorded, crashes = "crashes/kernels";
};

bool ParseFlag(absl::string_view arg, Flags* flags) {
  const std::vector<std::string> parts = absl::StrSplit(arg, absl::MaxSplits('=', 1));
  if (parts.size() != 2) return false;
  const std::string& value = parts[1];
  if (parts[0] == "--seconds") return absl::SimpleAtoi(value, &flags->seconds);
  if (parts[0] == "--seed") return absl::SimpleAtoi(value, &flags->seed);
  if (parts[0] == "--first") return absl::SimpleAtoi(value, &flags->first);
  if (parts[0] == "--count") return absl::SimpleAtoi(value, &flags->count);
  if (parts[0] == "--jobs") return absl::SimpleAtoi(value, &flags->jobs) && flags->jobs > 0;
  if (parts[0] == "--op") return !(flags->op = value).empty();
  if (parts[0] == "--recorded") return !(flags->recorded = value).empty();
  if (parts[0] == "--crashes") return !(flags->crashes = value).empty();
  return false;
}

std::string OpsOf(const tensorflow::GraphDef& graph) {
  std::set<std::string> ops;
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (absl::StartsWith(node.name(), "op")) ops.insert(node.op());
  }
  return absl::StrJoin(ops, ",");
}

// Runs one case in this process, which may crash.
Outcome Check(const tensorflow::GraphDef& graph) {
  ::alarm(kAlarmSeconds);
  SessionOptions options;
  options.host =
      std::make_shared<Host>(Host::Options{.intra_op_threads = 1, .inter_op_threads = 1});
  options.default_timeout = kRunTimeout;
  const CaseResult result = RunCase(graph, options);
  const std::string contradiction =
      result.status.ok() ? FirstShapeContradiction(graph, result.outputs) : "";
  ::alarm(0);
  if (!contradiction.empty()) return {Outcome::kFailed, contradiction};
  return {};
}

void Keep(const Flags& flags, int64_t number, const std::string& text,
          const tensorflow::GraphDef& graph) {
  std::string proto;
  google::protobuf::TextFormat::PrintToString(graph, &proto);
  std::ofstream file(JoinPath(flags.crashes, absl::StrCat(flags.seed, "_", number, ".pbtxt")));
  file << "# " << text << "\n" << proto;
  std::cout << "    " << OpsOf(graph) << std::endl;
}

int Fuzz(const Flags& flags) {
  CaseMaker::Options options;
  for (const OpDef* op : OpsWithKernel()) {
    if (flags.op.empty() || op->name == flags.op) options.ops.push_back(op);
  }
  if (options.ops.empty()) {
    std::cerr << "fuzz_kernels: op '" << flags.op << "' has no kernel\n";
    return 2;
  }
  options.recorded = flags.recorded;
  options.hostile = true;
  options.share_of_graphs = flags.op.empty() ? 0.2 : 0;
  options.share_of_sequences = flags.op.empty() ? 0.1 : 0;
  const CaseMaker maker(options);
  const absl::Time end = absl::Now() + absl::Seconds(flags.seconds);
  std::cout << "seed " << flags.seed << ", " << options.ops.size() << " ops" << std::endl;
  int64_t number = flags.first, findings = 0;
  while (absl::Now() < end && (flags.count < 0 || number < flags.first + flags.count)) {
    const int batch = static_cast<int>(
        flags.count < 0 ? kBatch : std::min<int64_t>(kBatch, flags.first + flags.count - number));
    const std::vector<Outcome> outcomes =
        RunIsolated(batch, {.jobs = flags.jobs}, [&](int i) -> Outcome {
          if (absl::Now() > end) return {Outcome::kSkipped, ""};
          const tensorflow::GraphDef graph = maker.Make(flags.seed, number + i);
          return Check(graph);
        });
    std::vector<int> failed;
    for (int i = 0; i < batch; ++i) {
      if (outcomes[i].kind == Outcome::kFailed) failed.push_back(i);
    }
    findings += static_cast<int64_t>(failed.size());
    // A case that cannot even be made crashes here as well.
    RunIsolated(static_cast<int>(failed.size()), {.jobs = 1}, [&](int i) -> Outcome {
      std::cout << flags.seed << " " << number + failed[i] << " " << outcomes[failed[i]].text
                << std::endl;
      Keep(flags, number + failed[i], outcomes[failed[i]].text,
           maker.Make(flags.seed, number + failed[i]));
      return {};
    });
    number += batch;
  }
  std::cout << number - flags.first << " cases, " << findings << " findings, seed " << flags.seed
            << std::endl;
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::SetMinLogSeverity(tessera::LogSeverity::kFatal);
  tessera::Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (!tessera::ParseFlag(argv[i], &flags)) {
      std::cerr << "usage: fuzz_kernels [--seconds=N] [--seed=N] [--first=N] [--count=N] "
                   "[--op=NAME] [--recorded=DIR] [--crashes=DIR] [--jobs=N]\n";
      return 2;
    }
  }
  return tessera::Fuzz(flags);
}
