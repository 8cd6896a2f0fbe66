// Memory of straight-through runs that follow a plan: tests/ and executor_test.cc have the rest.
#include "runtime/exec/straight_executor.h"

#include <atomic>
#include <numeric>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/testing/test_device.h"
#include "runtime/tensor/testing/counting_allocator.h"

namespace tessera {
namespace {

// z[i] = x[i] + 1, in memory of its own.
REGISTER_OP("TestNext").Input("x: int32").Output("z: int32");
// The same, and keeps the input if told to.
REGISTER_OP("TestKeep").Input("x: int32").Output("z: int32");
// x, times[0] over.
REGISTER_OP("TestRepeat").Input("x: int32").Input("times: int32").Output("z: int32");
REGISTER_OP("TestFailIfNegative").Input("x: int32").Output("z: int32");

class NextKernel : public OpKernel {
 public:
  explicit NextKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const z, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (size_t i = 0; i < ctx.input(0).flat<int32_t>().size(); ++i) {
      z->flat<int32_t>()[i] = ctx.input(0).flat<int32_t>()[i] + 1;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestNext", kCpu, NextKernel);

std::atomic<bool> keeps{false};
Tensor kept;

class KeepKernel : public NextKernel {
 public:
  using NextKernel::NextKernel;
  absl::Status Compute(KernelContext& ctx) override {
    if (keeps) kept = ctx.input(0);
    return NextKernel::Compute(ctx);
  }
};
REGISTER_KERNEL("TestKeep", kCpu, KeepKernel);

class RepeatKernel : public OpKernel {
 public:
  explicit RepeatKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const int64_t times = ctx.input(1).scalar<int32_t>(), count = ctx.input(0).num_elements();
    ASSIGN_OR_RETURN(Tensor* const z, ctx.AllocateOutput(0, {times * count}));
    for (int64_t i = 0; i < times * count; ++i) {
      z->flat<int32_t>()[i] = ctx.input(0).flat<int32_t>()[i % count];
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestRepeat", kCpu, RepeatKernel);

class FailIfNegativeKernel : public NextKernel {
 public:
  using NextKernel::NextKernel;
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).flat<int32_t>()[0] < 0) return absl::InternalError("negative");
    return NextKernel::Compute(ctx);
  }
};
REGISTER_KERNEL("TestFailIfNegative", kCpu, FailIfNegativeKernel);

std::unique_ptr<Executor> CompileStraight(const TestGraph& g, Device* device = nullptr) {
  CompileOptions options;
  options.device = device;
  options.kind = ExecutorKind::kStraightThrough;
  return Compile(g.graph, options).value();
}

absl::StatusOr<std::vector<Tensor>> RunOnce(const Executor& executor,
                                            const std::vector<Tensor>& args) {
  TestStep step;
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  RETURN_IF_ERROR(executor.Run(step.context, run));
  return results;
}

Tensor Counting(int64_t length, int32_t from = 0) {
  Tensor x = Tensor::Allocate(DType::kInt32, {length}).value();
  std::iota(x.flat<int32_t>().begin(), x.flat<int32_t>().end(), from);
  return x;
}

void ExpectCounting(const Tensor& x, int64_t length, int32_t from) {
  ASSERT_EQ(x.num_elements(), length);
  for (int64_t i = 0; i < length; ++i) {
    ASSERT_EQ(x.flat<int32_t>()[i], from + static_cast<int32_t>(i)) << i;
  }
}

Endpoint Chain(TestGraph& g, Endpoint x, int length) {
  for (int i = 0; i < length; ++i) x = g.Op("TestNext", {x});
  return x;
}

TEST(StraightExecutorTest, RunsOfKnownShapesAllocateTheBlockAndTheResult) {
  TestGraph g;
  g.Result(0, Chain(g, g.Arg(0, DType::kInt32), 20));
  CountingAllocator heap;
  AllocatorDevice device(&heap);
  const auto executor = CompileStraight(g, &device);
  constexpr int64_t kLength = 100'000;
  std::vector<int> counts;
  for (int run = 0; run < 4; ++run) {
    heap.count = 0;
    const auto results = RunOnce(*executor, {Counting(kLength, run)});
    ASSERT_TRUE(results.ok());
    ExpectCounting((*results)[0], kLength, 20 + run);
    counts.push_back(heap.count);
  }
  EXPECT_EQ(counts, std::vector<int>({20, 20, 2, 2}));
}

TEST(StraightExecutorTest, EachSetOfShapesHasItsPlan) {
  TestGraph g;
  g.Result(0, Chain(g, g.Arg(0, DType::kInt32), 20));
  CountingAllocator heap;
  AllocatorDevice device(&heap);
  const auto executor = CompileStraight(g, &device);
  for (int run = 0; run < 6; ++run) {
    for (const int64_t length : {100'000, 1, 50'000, 0}) {
      heap.count = 0;
      const auto results = RunOnce(*executor, {Counting(length, run)});
      ASSERT_TRUE(results.ok());
      ExpectCounting((*results)[0], length, 20 + run);
      EXPECT_LE(heap.count, run < 2 ? 20 : 2);
    }
  }
}

TEST(StraightExecutorTest, ResultsStayWhatTheyAre) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint middle = Chain(g, x, 10);
  g.Result(0, middle);
  g.Result(1, Chain(g, middle, 10));
  const auto executor = CompileStraight(g);
  std::vector<std::vector<Tensor>> all;
  for (int run = 0; run < 8; ++run) {
    const auto results = RunOnce(*executor, {Counting(1000, run)});
    ASSERT_TRUE(results.ok());
    all.push_back(*results);
  }
  for (int run = 0; run < 8; ++run) {
    ExpectCounting(all[run][0], 1000, 10 + run);
    ExpectCounting(all[run][1], 1000, 20 + run);
  }
}

TEST(StraightExecutorTest, WhatAKernelKeepsAgainstThePlanStaysWhatItIs) {
  TestGraph g;
  const Endpoint x = Chain(g, g.Arg(0, DType::kInt32), 10);
  g.Result(0, Chain(g, g.Op("TestKeep", {x}), 10));
  auto executor = CompileStraight(g);
  for (int run = 0; run < 6; ++run) {
    keeps = run == 3;
    const auto results = RunOnce(*executor, {Counting(1000, run)});
    ASSERT_TRUE(results.ok());
    ExpectCounting((*results)[0], 1000, 21 + run);
  }
  ExpectCounting(kept, 1000, 13);
  executor.reset();
  ExpectCounting(kept, 1000, 13);
  kept = Tensor();
}

TEST(StraightExecutorTest, SizesMayDependOnMoreThanShapes) {
  TestGraph g;
  const Endpoint x = Chain(g, g.Arg(0, DType::kInt32), 10);
  const Endpoint longer = g.Op("TestRepeat", {x, g.Arg(1, DType::kInt32)});
  g.Result(0, Chain(g, longer, 10));
  const auto executor = CompileStraight(g);
  for (const int32_t times : {2, 2, 2, 5, 1, 0, 7, 2}) {
    const auto results = RunOnce(*executor, {Counting(1000), Tensor::Scalar<int32_t>(times)});
    ASSERT_TRUE(results.ok());
    ASSERT_EQ((*results)[0].num_elements(), 1000 * times);
    for (int64_t i = 0; i < 1000 * times; ++i) {
      ASSERT_EQ((*results)[0].flat<int32_t>()[i], i % 1000 + 20);
    }
  }
}

TEST(StraightExecutorTest, ARunThatFailsLeavesNothingBehind) {
  TestGraph g;
  const Endpoint x = Chain(g, g.Arg(0, DType::kInt32), 10);
  g.Result(0, Chain(g, g.Op("TestFailIfNegative", {x}), 10));
  const auto executor = CompileStraight(g);
  for (int run = 0; run < 12; ++run) {
    const int32_t from = run % 3 == 2 ? -1000 : run;
    const auto results = RunOnce(*executor, {Counting(1000, from)});
    EXPECT_EQ(results.ok(), from >= 0);
    if (results.ok()) ExpectCounting((*results)[0], 1000, 21 + from);
  }
}

TEST(StraightExecutorTest, RunsAtOnceHaveMemoryOfTheirOwn) {
  TestGraph g;
  g.Result(0, Chain(g, g.Arg(0, DType::kInt32), 30));
  const auto executor = CompileStraight(g);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 100; ++run) {
        const int64_t length = 500 + 500 * (run % 3);
        const auto results = RunOnce(*executor, {Counting(length, t)});
        ASSERT_TRUE(results.ok());
        ExpectCounting((*results)[0], length, 30 + t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
