#include "runtime/exec/partitioned_executor.h"

#include <gtest/gtest.h>

#include "runtime/exec/testing/executor_test_ops.h"

namespace tessera {
namespace {

std::unique_ptr<Executor> CompilePart(const TestGraph& part) {
  CompileOptions options;
  options.kind = ExecutorKind::kDataflow;
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(part.graph, options);
  EXPECT_TRUE(executor.ok()) << executor.status();
  return *std::move(executor);
}

// The part that waits is woken by the failure of the other, and ends before it does.
TEST(PartitionedExecutorTest, AFailureIsNotHiddenByTheCancellationThatItCauses) {
  TestGraph waits, fails;
  waits.Result(0, waits.Op("TestWait", {waits.Const(1)}));
  fails.Result(1, fails.Op("TestFail", {fails.Const(1)}));
  for (const PartsMeet meet : {PartsMeet::kInStep, PartsMeet::kInCall}) {
    std::vector<std::unique_ptr<Executor>> parts;
    parts.push_back(CompilePart(waits));
    parts.push_back(CompilePart(fails));
    const std::unique_ptr<Executor> executor = MakePartitionedExecutor(std::move(parts), meet);
    TestStep step;
    std::vector<Tensor> results;
    RunArgs run;
    run.results = &results;
    const absl::Status status = executor->Run(step.context, run);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  }
}

}  // namespace
}  // namespace tessera
