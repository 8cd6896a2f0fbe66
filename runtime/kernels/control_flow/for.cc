// For: calls a body for each number of a range.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/branch_function.h"
#include "runtime/kernels/control_flow/function_loop.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

// The numbers of a loop. They are 64 bits wide, so that the one behind the last cannot overflow.
struct Range {
  int64_t next, limit, delta;
  bool IsOver() const { return delta > 0 ? next >= limit : delta < 0 ? next <= limit : true; }
};

// Reads the first three inputs. Errors: INVALID_ARGUMENT if they are not scalars, or the loop runs
// away from its limit.
absl::StatusOr<Range> ReadRange(const KernelContext& ctx) {
  constexpr const char* kNames[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).shape().IsScalar()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(kNames[i], " must be a scalar, has shape ", ctx.input(i).shape().ToString()));
  }
  const Range range = {ctx.input(0).scalar<int32_t>(), ctx.input(1).scalar<int32_t>(),
                       ctx.input(2).scalar<int32_t>()};
  const bool is_up = range.delta > 0 && range.next <= range.limit;
  const bool is_down = range.delta < 0 && range.next >= range.limit;
  if (is_up || is_down || range.next == range.limit) return range;
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid start/limit/delta: ", range.next, " ", range.limit, " ", range.delta));
}

// Makes *args the arguments of the next call: the number, and the loop variables, which are moved.
// Errors: RESOURCE_EXHAUSTED.
absl::Status NextArguments(const KernelContext& ctx, Range* range, std::vector<Tensor>& values,
                           std::vector<Tensor>* args) {
  ASSIGN_OR_RETURN(Tensor number,
                   ScalarIn(ctx.host_allocator(), static_cast<int32_t>(range->next)));
  args->clear();
  args->push_back(std::move(number));
  for (Tensor& value : values) args->push_back(std::move(value));
  range->next += range->delta;
  return absl::OkStatus();
}

class ForKernel final : public OpKernel {
 public:
  explicit ForKernel(BranchFunction body) : body_(std::move(body)) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Range range, ReadRange(ctx));
    std::vector<Tensor> values = TakeInputs(ctx, 3), args;
    while (!range.IsOver()) {
      RETURN_IF_ERROR(NextArguments(ctx, &range, values, &args));
      RETURN_IF_ERROR(body_.get()->CallConsuming(ctx.step(), absl::MakeSpan(args), &values));
    }
    return PutOutputs(ctx, values);
  }

 private:
  const BranchFunction body_;
};

// One running loop of AsyncForKernel.
class ForCalls final : public AsyncCalls {
 public:
  ForCalls(KernelContext& ctx, const Range& range, const CallableFunction* body,
           AsyncOpKernel::DoneCallback done)
      : AsyncCalls(std::move(done)),
        ctx_(ctx),
        body_(body),
        range_(range),
        values_(TakeInputs(ctx, 3)) {}

 private:
  void Start(Ended ended) override {
    const absl::Status status = NextArguments(ctx_, &range_, values_, &args_);
    if (!status.ok()) return ended(status);
    body_->CallAsync(ctx_.step(), absl::MakeSpan(args_), &values_, std::move(ended));
  }
  absl::StatusOr<bool> Advance() override {
    if (!range_.IsOver()) return true;
    RETURN_IF_ERROR(PutOutputs(ctx_, values_));
    return false;
  }

  KernelContext& ctx_;
  const CallableFunction* const body_;
  Range range_;
  std::vector<Tensor> values_, args_;
};

// For bodies that may wait.
class AsyncForKernel final : public AsyncOpKernel {
 public:
  explicit AsyncForKernel(BranchFunction body) : body_(std::move(body)) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    const absl::StatusOr<Range> range = ReadRange(ctx);
    if (!range.ok()) return done(range.status());
    if (!range->IsOver()) {
      AsyncCalls::Run(std::make_unique<ForCalls>(ctx, *range, body_.get(), std::move(done)));
      return;
    }
    std::vector<Tensor> values = TakeInputs(ctx, 3);
    done(PutOutputs(ctx, values));
  }

 private:
  const BranchFunction body_;
};

std::unique_ptr<OpKernel> MakeFor(const KernelBuild& build) {
  const int variables = build.num_inputs() - 3;
  BranchFunction branch(build, "body", variables + 1, variables);
  const CallableFunction* const body = branch.get();
  if (!build.status().ok()) return nullptr;
  if (body->num_args() != variables + 1 || body->num_results() != variables) {
    build.Fail(absl::InvalidArgumentError(absl::StrCat(
        "the body takes ", body->num_args(), " and gives ", body->num_results(),
        " tensors, it must take the number and ", variables, " and give ", variables)));
    return nullptr;
  }
  if (body->may_wait()) return std::make_unique<AsyncForKernel>(std::move(branch));
  return std::make_unique<ForKernel>(std::move(branch));
}

const KernelRegistration for_loop = KernelBuilder("For", kCpu, MakeFor);

}  // namespace
}  // namespace tessera
