#include "runtime/exec/testing/executor_test_ops.h"

#include <new>
#include <thread>

#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/exec/rendezvous.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

REGISTER_OP("TestAdd").Input("x: int32").Input("y: int32").Output("z: int32");
REGISTER_OP("TestLess").Input("x: int32").Input("y: int32").Output("z: bool");
REGISTER_OP("TestFail").Input("x: int32").Output("z: int32");
REGISTER_OP("TestTooLarge").Input("x: int32").Output("z: int32");
REGISTER_OP("TestWait").Input("x: int32").Output("z: int32");
REGISTER_OP("TestLater").Input("x: int32").Output("z: int32");
REGISTER_OP("TestCount").Input("x: int32").Output("z: int32").Stateful();
REGISTER_OP("TestSleep").Input("x: int32").Output("z: int32");
REGISTER_OP("TestUnset").Input("x: int32").Output("z: int32");
REGISTER_OP("TestNoKernel").Input("x: int32").Output("z: int32");

class AddKernel : public OpKernel {
 public:
  explicit AddKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<int32_t>(ctx.input(0).scalar<int32_t>() +
                                              ctx.input(1).scalar<int32_t>()));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestAdd", kCpu, AddKernel);

class LessKernel : public OpKernel {
 public:
  explicit LessKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(
        0, Tensor::Scalar<bool>(ctx.input(0).scalar<int32_t>() < ctx.input(1).scalar<int32_t>()));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestLess", kCpu, LessKernel);

class FailKernel : public OpKernel {
 public:
  explicit FailKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::InternalError("told to fail"); }
};
REGISTER_KERNEL("TestFail", kCpu, FailKernel);

class TooLargeKernel : public OpKernel {
 public:
  explicit TooLargeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    constexpr double kCost = 1e6;  // nanoseconds: worth a thread
    // A sanitizer would end the process if so much memory were asked for.
    ctx.ParallelFor(8, kCost, [](int64_t, int64_t end) {
      if (end == 8) throw std::bad_alloc();
    });
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestTooLarge", kCpu, TooLargeKernel);

class WaitKernel : public AsyncOpKernel {
 public:
  explicit WaitKernel(const KernelBuild&) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    CancellationManager::Token token;
    if (!ctx.step().cancellation->Register([done] { done(absl::CancelledError("woken")); },
                                           &token)) {
      done(absl::CancelledError("cancelled before it waited"));
    }
  }
};
REGISTER_KERNEL("TestWait", kCpu, WaitKernel);

class LaterKernel : public AsyncOpKernel {
 public:
  explicit LaterKernel(const KernelBuild&) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    std::thread([&ctx, done = std::move(done)] {
      ctx.set_output(0, ctx.TakeInput(0));
      done(absl::OkStatus());
    }).detach();
  }
};
REGISTER_KERNEL("TestLater", kCpu, LaterKernel);

class CountKernel : public OpKernel {
 public:
  explicit CountKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<int32_t>(++count_));
    return absl::OkStatus();
  }

 private:
  std::atomic<int32_t> count_{0};
};
REGISTER_KERNEL("TestCount", kCpu, CountKernel);

class SleepKernel : public OpKernel {
 public:
  explicit SleepKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    absl::SleepFor(absl::Milliseconds(ctx.input(0).scalar<int32_t>()));
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestSleep", kCpu, SleepKernel);

class UnsetKernel : public OpKernel {
 public:
  explicit UnsetKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};
REGISTER_KERNEL("TestUnset", kCpu, UnsetKernel);

}  // namespace

Endpoint TestGraph::Const(int32_t value) {
  return Op("Const", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(value)}});
}

Endpoint TestGraph::Arg(int index, DType dtype) {
  return Op("_Arg", {}, {{"T", dtype}, {"index", int64_t{index}}});
}

Node* TestGraph::Result(int index, Endpoint value) {
  return OpNode(
      "_Retval", {value},
      {{"T", RemoveRef(value.node->output_type(value.index))}, {"index", int64_t{index}}});
}

Endpoint TestGraph::Op(const std::string& op, const std::vector<Endpoint>& inputs, AttrMap attrs,
                       const std::string& name) {
  return {OpNode(op, inputs, std::move(attrs), name), 0};
}

Node* TestGraph::OpNode(const std::string& op, const std::vector<Endpoint>& inputs, AttrMap attrs,
                        const std::string& name) {
  std::vector<Endpoint> connected;
  for (const Endpoint& input : inputs) {
    if (input.node != nullptr) connected.push_back(input);
  }
  const std::string unique = name.empty() ? graph.UniqueName(op) : name;
  if (connected.size() == inputs.size()) {
    absl::StatusOr<Node*> node = graph.AddNode(unique, op, std::move(attrs), inputs);
    CHECK(node.ok()) << node.status().ToString();
    return *node;
  }
  // Some inputs come later: the back edge of a loop.
  absl::StatusOr<Node*> node = graph.AddNode(unique, op, std::move(attrs));
  CHECK(node.ok()) << node.status().ToString();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node == nullptr) continue;
    const absl::Status status = graph.Connect(inputs[i], *node, static_cast<int>(i));
    CHECK(status.ok()) << status.ToString();
  }
  return *node;
}

TestStep::TestStep() : rendezvous(std::make_unique<LocalRendezvous>()) {
  context.step_id = 1;
  context.resources = &resources;
  context.step_resources = &step_resources;
  context.cancellation = &cancellation;
  context.rendezvous = rendezvous.get();
}

TestStep::~TestStep() = default;

absl::StatusOr<std::vector<Tensor>> RunGraph(const Graph& graph, ExecutorKind kind,
                                             const std::vector<Tensor>& args) {
  CompileOptions options;
  options.kind = kind;
  ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, Compile(graph, options));
  TestStep step;
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  RETURN_IF_ERROR(executor->Run(step.context, run));
  return results;
}

}  // namespace tessera
