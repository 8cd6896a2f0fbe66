// While: calls a body as long as a condition holds.
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/framework/kernel_registry.h"
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

std::vector<Tensor> TakeInputs(KernelContext& ctx) {
  std::vector<Tensor> inputs;
  inputs.reserve(ctx.num_inputs());
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.TakeInput(i));
  return inputs;
}

absl::Status PutOutputs(KernelContext& ctx, std::vector<Tensor>& values) {
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (values[i].dtype() != ctx.output_type(i)) {
      return absl::InvalidArgumentError(absl::StrCat("loop variable ", i, " became ",
                                                     DTypeName(values[i].dtype()), ", not ",
                                                     DTypeName(ctx.output_type(i))));
    }
    ctx.set_output(i, std::move(values[i]));
  }
  return absl::OkStatus();
}

class WhileKernel final : public OpKernel {
 public:
  WhileKernel(const CallableFunction* cond, const CallableFunction* body)
      : cond_(cond), body_(body) {}

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
      RETURN_IF_ERROR(body_->CallConsuming(ctx.step(), absl::MakeSpan(values), &next));
      values.swap(next);
    }
  }

 private:
  const CallableFunction* const cond_;
  const CallableFunction* const body_;
};

// One running loop of AsyncWhileKernel. Deletes itself at the end.
class AsyncLoop {
 public:
  AsyncLoop(KernelContext& ctx, const CallableFunction* cond, const CallableFunction* body,
            AsyncOpKernel::DoneCallback done)
      : ctx_(ctx), cond_(cond), body_(body), done_(std::move(done)), values_(TakeInputs(ctx)) {}

  // Makes calls until one of them does not end at once; its end goes on from here. A loop whose
  // calls all end at once thus does not nest.
  void Run() {
    while (true) {
      phase_.store(Phase::kCalling, std::memory_order_relaxed);
      auto ended = [this](absl::Status status) {
        status_ = std::move(status);
        if (phase_.exchange(Phase::kEnded, std::memory_order_acq_rel) == Phase::kReturned) {
          if (Advance()) Run();
        }
      };
      if (in_body_) {
        body_->CallAsync(ctx_.step(), absl::MakeSpan(values_), &next_, ended);
      } else {
        // The condition gets copies: the body needs the values after it.
        copies_ = values_;
        cond_->CallAsync(ctx_.step(), absl::MakeSpan(copies_), &next_, ended);
      }
      if (phase_.exchange(Phase::kReturned, std::memory_order_acq_rel) != Phase::kEnded) return;
      if (!Advance()) return;
    }
  }

 private:
  enum class Phase { kCalling, kReturned, kEnded };

  // False if the loop is over, and this object gone.
  bool Advance() {
    absl::Status status = std::exchange(status_, absl::OkStatus());
    if (!status.ok()) return End(std::move(status));
    if (in_body_) {
      values_.swap(next_);
      in_body_ = false;
      return true;
    }
    copies_.clear();
    absl::StatusOr<bool> holds = Holds(next_);
    if (!holds.ok()) return End(holds.status());
    if (!*holds) return End(PutOutputs(ctx_, values_));
    in_body_ = true;
    return true;
  }

  bool End(absl::Status status) {
    const AsyncOpKernel::DoneCallback done = std::move(done_);
    delete this;
    done(std::move(status));
    return false;
  }

  KernelContext& ctx_;
  const CallableFunction* const cond_;
  const CallableFunction* const body_;
  AsyncOpKernel::DoneCallback done_;
  std::vector<Tensor> values_, next_, copies_;
  absl::Status status_;
  bool in_body_ = false;
  std::atomic<Phase> phase_{Phase::kCalling};
};

// For conditions and bodies that may wait.
class AsyncWhileKernel final : public AsyncOpKernel {
 public:
  AsyncWhileKernel(const CallableFunction* cond, const CallableFunction* body)
      : cond_(cond), body_(body) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    (new AsyncLoop(ctx, cond_, body_, std::move(done)))->Run();
  }

 private:
  const CallableFunction* const cond_;
  const CallableFunction* const body_;
};

std::unique_ptr<OpKernel> MakeWhile(const KernelBuild& build) {
  const CallableFunction* const cond = build.function("cond", /*results_on_host=*/true);
  const CallableFunction* const body = build.function("body");
  if (!build.status().ok()) return nullptr;
  const int n = build.num_inputs();
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
  if (cond->may_wait() || body->may_wait()) return std::make_unique<AsyncWhileKernel>(cond, body);
  return std::make_unique<WhileKernel>(cond, body);
}

const KernelRegistration while_call = KernelBuilder("While", kAnyDevice, MakeWhile);
const KernelRegistration stateless_while = KernelBuilder("StatelessWhile", kAnyDevice, MakeWhile);
const KernelRegistration xla_while = KernelBuilder("XlaWhile", kAnyDevice, MakeWhile);
const KernelRegistration lowered_while = KernelBuilder("_While", kAnyDevice, MakeWhile);

}  // namespace
}  // namespace tessera
