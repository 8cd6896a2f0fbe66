// Calls of functions: PartitionedCall and its like, If, Case.
#include "runtime/exec/function_call.h"

#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/branch_function.h"
#include "runtime/kernels/truth.h"

namespace tessera {
namespace {

using Args = absl::InlinedVector<Tensor, 8>;

// The inputs from `first` on, moved where nobody else needs them.
Args TakeArgs(KernelContext& ctx, int first) {
  Args args;
  args.reserve(ctx.num_inputs() - first);
  for (int i = first; i < ctx.num_inputs(); ++i) args.push_back(ctx.TakeInput(i));
  return args;
}

absl::Status PutResults(KernelContext& ctx, std::vector<Tensor>& results) {
  if (static_cast<int>(results.size()) < ctx.num_outputs()) {
    return absl::InternalError(absl::StrCat("the function gave ", results.size(), " results for ",
                                            ctx.num_outputs(), " outputs"));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (results[i].dtype() != RemoveRef(ctx.output_type(i))) {
      return absl::InvalidArgumentError(absl::StrCat("result ", i, " of the function is ",
                                                     DTypeName(results[i].dtype()), ", not ",
                                                     DTypeName(ctx.output_type(i))));
    }
    ctx.set_output(i, std::move(results[i]));
  }
  return absl::OkStatus();
}

// Which of several functions a node calls.
class Choice {
 public:
  virtual ~Choice() = default;
  // Position of the first argument among the inputs.
  virtual int first_arg() const = 0;
  virtual absl::StatusOr<const CallableFunction*> Choose(KernelContext& ctx) const = 0;
  // All of them.
  virtual std::vector<const CallableFunction*> functions() const = 0;
};

class OneFunction final : public Choice {
 public:
  explicit OneFunction(const CallableFunction* function) : function_(function) {}
  int first_arg() const override { return 0; }
  absl::StatusOr<const CallableFunction*> Choose(KernelContext&) const override {
    return function_;
  }
  std::vector<const CallableFunction*> functions() const override { return {function_}; }

 private:
  const CallableFunction* const function_;
};

// Input 0 names the device to run on. Here there is but this one.
class RemoteFunction final : public Choice {
 public:
  explicit RemoteFunction(const CallableFunction* function) : function_(function) {}
  int first_arg() const override { return 1; }
  absl::StatusOr<const CallableFunction*> Choose(KernelContext& ctx) const override {
    const Tensor& target = ctx.input(0);
    if (target.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'target' must be a scalar, has shape ", target.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(target.scalar<std::string>()));
    if (ctx.device() != nullptr && !name.Matches(ctx.device()->name())) {
      return absl::InvalidArgumentError(
          absl::StrCat("device '", target.scalar<std::string>(), "' is not this one, '",
                       ctx.device()->name().ToString(), "', and no other can be called from here"));
    }
    return function_;
  }
  std::vector<const CallableFunction*> functions() const override { return {function_}; }

 private:
  const CallableFunction* const function_;
};

class IfChoice final : public Choice {
 public:
  IfChoice(BranchFunction then_branch, BranchFunction else_branch)
      : then_(std::move(then_branch)), else_(std::move(else_branch)) {}
  int first_arg() const override { return 1; }
  absl::StatusOr<const CallableFunction*> Choose(KernelContext& ctx) const override {
    ASSIGN_OR_RETURN(const bool holds, IsTrue(ctx.input(0)));
    return holds ? then_.get() : else_.get();
  }
  std::vector<const CallableFunction*> functions() const override {
    return {then_.get(), else_.get()};
  }

 private:
  const BranchFunction then_, else_;
};

// An index beyond the branches means the last one.
class CaseChoice final : public Choice {
 public:
  explicit CaseChoice(std::vector<BranchFunction> branches) : branches_(std::move(branches)) {}
  int first_arg() const override { return 1; }
  absl::StatusOr<const CallableFunction*> Choose(KernelContext& ctx) const override {
    const Tensor& index = ctx.input(0);
    if (index.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'branch_index' must be a scalar, has shape ", index.shape().ToString()));
    }
    const int32_t i = index.scalar<int32_t>();
    const int32_t last = static_cast<int32_t>(branches_.size()) - 1;
    return branches_[i < 0 || i > last ? last : i].get();
  }
  std::vector<const CallableFunction*> functions() const override {
    std::vector<const CallableFunction*> all;
    for (const BranchFunction& branch : branches_) all.push_back(branch.get());
    return all;
  }

 private:
  const std::vector<BranchFunction> branches_;
};

class CallKernel final : public OpKernel {
 public:
  explicit CallKernel(std::unique_ptr<Choice> choice) : choice_(std::move(choice)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CallableFunction* function, choice_->Choose(ctx));
    Args args = TakeArgs(ctx, choice_->first_arg());
    std::vector<Tensor> results;
    RETURN_IF_ERROR(function->CallConsuming(ctx.step(), absl::MakeSpan(args), &results));
    return PutResults(ctx, results);
  }

 private:
  const std::unique_ptr<Choice> choice_;
};

// For functions that may wait: no thread is held meanwhile.
class AsyncCallKernel final : public AsyncOpKernel {
 public:
  explicit AsyncCallKernel(std::unique_ptr<Choice> choice) : choice_(std::move(choice)) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<const CallableFunction*> function = choice_->Choose(ctx);
    if (!function.ok()) {
      done(function.status());
      return;
    }
    struct Call {
      Args args;
      std::vector<Tensor> results;
    };
    auto call = std::make_shared<Call>();
    call->args = TakeArgs(ctx, choice_->first_arg());
    (*function)->CallAsync(ctx.step(), absl::MakeSpan(call->args), &call->results,
                           [&ctx, call, done = std::move(done)](absl::Status status) {
                             if (status.ok()) status = PutResults(ctx, call->results);
                             done(std::move(status));
                           });
  }

 private:
  const std::unique_ptr<Choice> choice_;
};

std::unique_ptr<OpKernel> MakeKernel(std::unique_ptr<Choice> choice) {
  for (const CallableFunction* function : choice->functions()) {
    if (function->may_wait()) return std::make_unique<AsyncCallKernel>(std::move(choice));
  }
  return std::make_unique<CallKernel>(std::move(choice));
}

// The kernel, or null and a recorded failure if a function takes or gives other numbers of tensors
// than the node.
std::unique_ptr<OpKernel> MakeChecked(const KernelBuild& build, std::unique_ptr<Choice> choice) {
  if (!build.status().ok()) return nullptr;
  const int num_args = build.num_inputs() - choice->first_arg();
  for (const CallableFunction* function : choice->functions()) {
    if (function->num_args() == num_args && function->num_results() == build.num_outputs()) {
      continue;
    }
    build.Fail(absl::InvalidArgumentError(absl::StrCat(
        "the function takes ", function->num_args(), " and gives ", function->num_results(),
        " tensors, the node has ", num_args, " and ", build.num_outputs())));
    return nullptr;
  }
  return MakeKernel(std::move(choice));
}

std::unique_ptr<OpKernel> MakePartitionedCall(const KernelBuild& build) {
  return MakeChecked(build, std::make_unique<OneFunction>(build.function("f")));
}
std::unique_ptr<OpKernel> MakeRemoteCall(const KernelBuild& build) {
  return MakeChecked(build, std::make_unique<RemoteFunction>(build.function("f")));
}
// A branch of a node whose first input chooses one.
BranchFunction MakeBranch(const KernelBuild& build, const FunctionRef& ref) {
  return BranchFunction(build, ref, build.num_inputs() - 1, build.num_outputs());
}
std::unique_ptr<OpKernel> MakeIf(const KernelBuild& build) {
  const auto branch = [&](absl::string_view attr) {
    return MakeBranch(build, build.attr<FunctionRef>(attr));
  };
  return MakeChecked(build,
                     std::make_unique<IfChoice>(branch("then_branch"), branch("else_branch")));
}
std::unique_ptr<OpKernel> MakeCase(const KernelBuild& build) {
  std::vector<BranchFunction> branches;
  for (const FunctionRef& branch : build.attr<std::vector<FunctionRef>>("branches")) {
    branches.push_back(MakeBranch(build, branch));
  }
  if (branches.empty()) build.Fail(absl::InvalidArgumentError("has no branches"));
  return MakeChecked(build, std::make_unique<CaseChoice>(std::move(branches)));
}

// Which class a kernel has depends on its functions, so these are registered by maker.
const KernelRegistration partitioned_call =
    KernelBuilder("PartitionedCall", kAnyDevice, MakePartitionedCall);
const KernelRegistration stateful_partitioned_call =
    KernelBuilder("StatefulPartitionedCall", kAnyDevice, MakePartitionedCall);
const KernelRegistration remote_call =
    KernelBuilder("RemoteCall", kCpu, MakeRemoteCall).HostMemory("target");
const KernelRegistration if_call = KernelBuilder("If", kAnyDevice, MakeIf).HostMemory("cond");
const KernelRegistration stateless_if =
    KernelBuilder("StatelessIf", kAnyDevice, MakeIf).HostMemory("cond");
const KernelRegistration xla_if = KernelBuilder("XlaIf", kAnyDevice, MakeIf).HostMemory("cond");
const KernelRegistration lowered_if = KernelBuilder("_If", kAnyDevice, MakeIf).HostMemory("cond");
const KernelRegistration case_call =
    KernelBuilder("Case", kAnyDevice, MakeCase).HostMemory("branch_index");
const KernelRegistration stateless_case =
    KernelBuilder("StatelessCase", kAnyDevice, MakeCase).HostMemory("branch_index");

// The position of this device's type in a list, or the list's length.
class DeviceIndexKernel : public OpKernel {
 public:
  explicit DeviceIndexKernel(const KernelBuild& build) {
    const auto names = build.attr<std::vector<std::string>>("device_names");
    const absl::string_view type = build.device() == nullptr ? kCpu : build.device()->type();
    int32_t index = 0;
    while (index < static_cast<int32_t>(names.size()) && names[index] != type) ++index;
    index_ = Tensor::Scalar(index);
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, index_);
    return absl::OkStatus();
  }

 private:
  Tensor index_;
};
REGISTER_KERNEL("DeviceIndex", kCpu, DeviceIndexKernel);

}  // namespace

std::unique_ptr<OpKernel> MakeCallKernel(const CallableFunction* function) {
  return MakeKernel(std::make_unique<OneFunction>(function));
}

}  // namespace tessera
