// Which ops and dtypes have kernels on GPUs, beside TensorFlow's kernels there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

constexpr char kEmulatedGpu[] = "EMULATED_GPU";

bool Allows(const KernelDef& kernel, absl::string_view attr, DType dtype) {
  for (const TypeConstraint& constraint : kernel.constraints) {
    if (constraint.attr != attr) continue;
    return std::find(constraint.allowed.begin(), constraint.allowed.end(), dtype) !=
           constraint.allowed.end();
  }
  return true;
}

// The host's own, whatever the device. Their work is a lock and a handle.
bool IsOfTheHost(absl::string_view op) {
  return op == "FIFOQueueV2" || op == "QueueDequeueV2" || op == "QueueSizeV2";
}

TEST(GpuCoverageTest, OpsThatServedAndTrainedModelsUseHaveTensorFlowsKernels) {
  const auto table = ReadFile("tests/conformance/tensorflow_gpu_kernels.tsv");
  ASSERT_TRUE(table.ok()) << table.status();
  std::map<std::string, std::vector<const KernelDef*>> on_gpu;
  for (const KernelDef* kernel : KernelRegistry::Global().All()) {
    if (kernel->devices.Contains(kEmulatedGpu)) on_gpu[kernel->op].push_back(kernel);
  }
  int num_ops = 0;
  std::vector<std::string> missing;
  for (const absl::string_view line : absl::StrSplit(*table, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "#")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    const std::string& op = cells[0];
    // Without a kernel on any device it is the planner's, as Const and While are.
    if (!KernelRegistry::Global().HasKernel(op) || IsOfTheHost(op)) continue;
    ++num_ops;
    const std::vector<const KernelDef*>& kernels = on_gpu[op];
    if (kernels.empty()) missing.push_back(op);
    for (size_t i = 1; i < cells.size() && !kernels.empty(); ++i) {
      const std::pair<std::string, std::string> attr = absl::StrSplit(cells[i], '=');
      for (const absl::string_view name : absl::StrSplit(attr.second, ',', absl::SkipEmpty())) {
        const DType dtype = DTypeFromName(name);
        const bool is_there = std::any_of(kernels.begin(), kernels.end(), [&](const auto* kernel) {
          return Allows(*kernel, attr.first, dtype);
        });
        if (!is_there) missing.push_back(absl::StrCat(op, " ", attr.first, "=", name));
      }
    }
  }
  EXPECT_GE(num_ops, 200);
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

}  // namespace
}  // namespace tessera
