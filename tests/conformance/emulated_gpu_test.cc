// The recorded op calls and graphs on the GPU's kernels, which the host runs thread by thread: the
// arithmetic and the indexing of every kernel, where there is no GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cuda/testing/emulation.h"
#include "runtime/session/session.h"
#include "tests/conformance/golden_corpus.h"
#include "tests/conformance/isolated_cases.h"

namespace tessera {
namespace {

constexpr char kData[] = "tests/data";
constexpr char kEmulatedGpu[] = "EMULATED_GPU";

// Without passes, which would fold the graphs: their inputs are constants.
SessionOptions OnEmulatedGpu() {
  SessionOptions options;
  options.devices.count[kEmulatedGpu] = 1;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.optimize = false;
  return options;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  const std::string path = JoinPath(kData, folder);
  const auto entries = ListDirectory(path);
  EXPECT_TRUE(entries.ok()) << entries.status();
  std::vector<std::string> files;
  for (const std::string& entry : entries.ok() ? *entries : std::vector<std::string>()) {
    if (absl::EndsWith(entry, ".pb")) files.push_back(JoinPath(path, entry));
  }
  return files;
}

// Runs each case in a process of its own. Returns how many launched kernels of the GPU.
int Replay(const std::vector<GoldenCase>& cases) {
  const SessionOptions options = OnEmulatedGpu();
  const auto check = [&](int i) -> Outcome {
    ::alarm(120);
    const int64_t before = emulation::NumLaunches();
    const std::string difference = Replay(cases[i], options, /*metadata=*/nullptr);
    if (!difference.empty()) return {Outcome::kFailed, difference};
    return {Outcome::kPassed, emulation::NumLaunches() > before ? "launched" : ""};
  };
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(cases.size()), /*jobs=*/2, check);
  int launched = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].kind, Outcome::kPassed)
        << cases[i].group << " " << cases[i].name << ": " << outcomes[i].text;
    if (outcomes[i].text == "launched") ++launched;
  }
  std::cout << cases.size() << " cases, " << launched << " launched kernels" << std::endl;
  return launched;
}

TEST(EmulatedGpuTest, OpCalls) {
  std::vector<GoldenCase> cases;
  for (const std::string& file : FilesIn("golden/ops")) {
    absl::StatusOr<std::vector<GoldenCase>> read = ReadOpCases(file);
    ASSERT_TRUE(read.ok()) << file << ": " << read.status();
    for (GoldenCase& golden : *read) {
      if (!KernelRegistry::Global().HasKernel(golden.group, kEmulatedGpu)) continue;
      // What depends on values, such as an index out of range, is no error on a GPU.
      if (!golden.error.empty()) continue;
      if (OpsWithoutKernel(golden).empty()) cases.push_back(std::move(golden));
    }
  }
  EXPECT_GE(Replay(cases), 4000);
}

TEST(EmulatedGpuTest, Graphs) {
  std::vector<GoldenCase> cases;
  for (const std::string& file : FilesIn("golden/graphs")) {
    absl::StatusOr<GoldenCase> golden = ReadGraphCase(file);
    ASSERT_TRUE(golden.ok()) << file << ": " << golden.status();
    if (golden->error.empty() && OpsWithoutKernel(*golden).empty()) {
      cases.push_back(*std::move(golden));
    }
  }
  EXPECT_GE(Replay(cases), 300);
}

}  // namespace
}  // namespace tessera
