// While: calls a body as long as a condition holds.
#include <memory>
#include <utility>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/branch_function.h"
#include "runtime/kernels/control_flow/function_loop.h"
#include "runtime/kernels/truth.h"

namespace tessera {
namespace {

absl::StatusOr<bool> Holds(const std::vector<Tensor>& condition) {
  if (condition.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition gave ", condition.size(), " results, not one"));
  }
  return IsTrue(condition[0]);
}

class WhileKernel final : public OpKernel {
 public:
  WhileKernel(const CallableFunction* cond, BranchFunction body)
      : cond_(cond), body_(std::move(body)) {}

  absl::Status Compute(KernelContext& ctx) override {
    // The body may work in the memory of the loop variables: from one iteration to the next nobody
    // else holds them.
    std::vector<Tensor> values = TakeInputs(ctx);
    std::vector<Tensor> condition, next;
    while (true) {
      RETURN_IF_ERROR(cond_->Call(ctx.step(), values, &condition));
      ASSIGN_OR_RETURN(const bool holds, Holds(condition));
      condition[0] = Tensor();
      if (!holds) return PutOutputs(ctx, values);
      RETURN_IF_ERROR(body_.get()->CallConsuming(ctx.step(), absl::MakeSpan(values), &next));
      values.swap(next);
    }
  }

 private:
  const CallableFunction* const cond_;
  const BranchFunction body_;
};

// One running loop of AsyncWhileKernel: calls the condition and the body in turn.
class WhileCalls final : public AsyncCalls {
 public:
  WhileCalls(KernelContext& ctx, const CallableFunction* cond, const CallableFunction* body,
             AsyncOpKernel::DoneCallback done)
      : AsyncCalls(std::move(done)),
        ctx_(ctx),
        cond_(cond),
        body_(body),
        values_(TakeInputs(ctx)) {}

 private:
  void Start(Ended ended) override {
    if (in_body_) {
      body_->CallAsync(ctx_.step(), absl::MakeSpan(values_), &next_, std::move(ended));
    } else {
      // The condition gets copies: the body needs the values after it.
      copies_ = values_;
      cond_->CallAsync(ctx_.step(), absl::MakeSpan(copies_), &next_, std::move(ended));
    }
  }

  absl::StatusOr<bool> Advance() override {
    if (in_body_) {
      values_.swap(next_);
      in_body_ = false;
      return true;
    }
    copies_.clear();
    ASSIGN_OR_RETURN(const bool holds, Holds(next_));
    if (!holds) RETURN_IF_ERROR(PutOutputs(ctx_, values_));
    in_body_ = true;
    return holds;
  }

  KernelContext& ctx_;
  const CallableFunction* const cond_;
  const CallableFunction* const body_;
  std::vector<Tensor> values_, next_, copies_;
  bool in_body_ = false;
};

// For conditions and bodies that may wait.
class AsyncWhileKernel final : public AsyncOpKernel {
 public:
  AsyncWhileKernel(const CallableFunction* cond, BranchFunction body)
      : cond_(cond), body_(std::move(body)) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    AsyncCalls::Run(std::make_unique<WhileCalls>(ctx, cond_, body_.get(), std::move(done)));
  }

 private:
  const CallableFunction* const cond_;
  const BranchFunction body_;
};

std::unique_ptr<OpKernel> MakeWhile(const KernelBuild& build) {
  const CallableFunction* const cond = build.function("cond", /*results_on_host=*/true);
  const int n = build.num_inputs();
  BranchFunction branch(build, "body", n, n);
  const CallableFunction* const body = branch.get();
  if (!build.status().ok()) return nullptr;
  if (cond->num_args() != n || cond->num_results() != 1) {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("the condition takes ", cond->num_args(), " and gives ", cond->num_results(),
                     " tensors, it must take ", n, " and give one")));
    return nullptr;
  }
  if (body->num_args() != n || body->num_results() != n) {
    build.Fail(absl::InvalidArgumentError(absl::StrCat("the body takes ", body->num_args(),
                                                       " and gives ", body->num_results(),
                                                       " tensors, it must take and give ", n)));
    return nullptr;
  }
  if (cond->may_wait() || body->may_wait()) {
    return std::make_unique<AsyncWhileKernel>(cond, std::move(branch));
  }
  return std::make_unique<WhileKernel>(cond, std::move(branch));
}

const KernelRegistration while_call = KernelBuilder("While", kAnyDevice, MakeWhile);
const KernelRegistration stateless_while = KernelBuilder("StatelessWhile", kAnyDevice, MakeWhile);
const KernelRegistration xla_while = KernelBuilder("XlaWhile", kAnyDevice, MakeWhile);
const KernelRegistration lowered_while = KernelBuilder("_While", kAnyDevice, MakeWhile);

}  // namespace
}  // namespace tessera
