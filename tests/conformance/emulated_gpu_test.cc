// The recorded op calls, graphs and models on the GPU's kernels, which the host runs thread by
// thread: the arithmetic and the indexing of every kernel, where there is no GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cuda/testing/emulation.h"
#include "runtime/session/session.h"
#include "tests/conformance/golden_corpus.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/recorded_models.h"

namespace tessera {
namespace {

constexpr char kData[] = "tests/data";
constexpr char kEmulatedGpu[] = "EMULATED_GPU";

SessionOptions OnEmulatedGpu(bool optimize) {
  SessionOptions options;
  options.devices.count[kEmulatedGpu] = 1;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.optimize = optimize;
  return options;
}

// Runs each case in a process of its own: `run` returns the difference to what was recorded.
// Returns how many launched kernels of the GPU.
int Replay(const std::vector<std::string>& names, const std::function<std::string(int)>& run) {
  const auto check = [&](int i) -> Outcome {
    ::alarm(120);
    const int64_t before = emulation::NumLaunches();
    const std::string difference = run(i);
    if (!difference.empty()) return {Outcome::kFailed, difference};
    return {Outcome::kPassed, emulation::NumLaunches() > before ? "launched" : ""};
  };
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(names.size()), {.jobs = 2}, check);
  int launched = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].kind, Outcome::kPassed) << names[i] << ": " << outcomes[i].text;
    if (outcomes[i].text == "launched") ++launched;
  }
  std::cout << names.size() << " cases, " << launched << " launched kernels" << std::endl;
  return launched;
}

// Replays all cases that the runtime has kernels for. What depends on values, such as an index out
// of range, is no error on a GPU.
int ReplayCases(std::vector<GoldenCase> cases, bool optimize) {
  std::erase_if(cases, [](const GoldenCase& golden) {
    return !golden.error.empty() || !OpsWithoutKernel(golden).empty();
  });
  std::vector<std::string> names;
  for (const GoldenCase& golden : cases)
    names.push_back(absl::StrCat(golden.group, " ", golden.name));
  const SessionOptions options = OnEmulatedGpu(optimize);
  return Replay(names, [&](int i) { return tessera::Replay(cases[i], options, nullptr); });
}

int ReplayGraphs(bool optimize) {
  std::vector<GoldenCase> cases;
  for (const std::string& file : GoldenFiles(kData, "graphs")) {
    absl::StatusOr<GoldenCase> golden = ReadGraphCase(file);
    EXPECT_TRUE(golden.ok()) << file << ": " << golden.status();
    if (golden.ok()) cases.push_back(*std::move(golden));
  }
  return ReplayCases(std::move(cases), optimize);
}

// A new kernel comes with a call that scripts/gpu/check will replay on a GPU.
TEST(EmulatedGpuTest, KernelsHaveRecordedCalls) {
  std::set<std::string> recorded;
  for (const std::string& file : GoldenFiles(kData, "ops")) {
    const auto read = ReadOpCases(file);
    ASSERT_TRUE(read.ok()) << file << ": " << read.status();
    for (const GoldenCase& golden : *read) {
      if (golden.error.empty()) recorded.insert(golden.group);
    }
  }
  for (const std::string& file : GoldenFiles(kData, "graphs")) {
    const auto golden = ReadGraphCase(file);
    ASSERT_TRUE(golden.ok()) << file << ": " << golden.status();
    for (const auto& node : golden->graph.node()) recorded.insert(node.op());
    for (const auto& function : golden->graph.library().function()) {
      for (const auto& node : function.node_def()) recorded.insert(node.op());
    }
  }
  int num_ops = 0;
  std::set<std::string> seen;
  for (const KernelDef* kernel : KernelRegistry::Global().All()) {
    const bool is_internal = absl::StartsWith(kernel->op, "_");  // made by passes and the planner
    if (is_internal || kernel->devices.Names(kAnyDevice) ||
        !kernel->devices.Contains(kEmulatedGpu) || !seen.insert(kernel->op).second) {
      continue;
    }
    ++num_ops;
    EXPECT_TRUE(recorded.contains(kernel->op)) << kernel->op;
  }
  EXPECT_GE(num_ops, 300);
}

TEST(EmulatedGpuTest, OpCalls) {
  std::vector<GoldenCase> cases;
  for (const std::string& file : GoldenFiles(kData, "ops")) {
    absl::StatusOr<std::vector<GoldenCase>> read = ReadOpCases(file);
    ASSERT_TRUE(read.ok()) << file << ": " << read.status();
    for (GoldenCase& golden : *read) {
      if (!KernelRegistry::Global().HasKernel(golden.group, kEmulatedGpu)) continue;
      cases.push_back(std::move(golden));
    }
  }
  EXPECT_GE(ReplayCases(std::move(cases), /*optimize=*/false), 4000);
}

// Without passes, which would fold most of the graphs.
TEST(EmulatedGpuTest, Graphs) { EXPECT_GE(ReplayGraphs(/*optimize=*/false), 300); }

TEST(EmulatedGpuTest, OptimizedGraphs) { EXPECT_GE(ReplayGraphs(/*optimize=*/true), 200); }

// With fused convolutions, products and attention, as servers load models.
TEST(EmulatedGpuTest, FrozenModels) {
  absl::StatusOr<std::vector<Recording>> recordings = FindRecordings(JoinPath(kData, "models"), {});
  ASSERT_TRUE(recordings.ok()) << recordings.status();
  std::vector<std::string> names;
  for (const Recording& recording : *recordings) names.push_back(recording.name);
  SessionOptions options = OnEmulatedGpu(/*optimize=*/true);
  options.freeze_variables = true;
  EXPECT_GE(Replay(names,
                   [&](int i) -> std::string {
                     const absl::Status status = ReplayModel((*recordings)[i], options, nullptr);
                     return status.ok() ? "" : status.ToString();
                   }),
            10);
}

}  // namespace
}  // namespace tessera
