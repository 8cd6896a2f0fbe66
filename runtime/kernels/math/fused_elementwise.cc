// Elementwise ops that a pass has joined (runtime/optimize/fuse_elementwise.h).
#include "runtime/kernels/primitives/fused_elementwise.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/elementwise_program.h"

namespace tessera {
namespace {

class FusedElementwiseKernel : public OpKernel {
 public:
  explicit FusedElementwiseKernel(const KernelBuild& build) : program_(build) {
    if (!build.status().ok()) return;
    functions_ = Primitive<FusedElementwise>(build)(build, program_.Functions());
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan, PlanFor(ctx));
    absl::InlinedVector<char*, 16> bases;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      bases.push_back(const_cast<char*>(ctx.input(i).address()));
    }
    absl::InlinedVector<bool, 16> is_taken(ctx.num_inputs(), false);
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor* const y, ForwardOrAllocate(ctx, *plan, i, absl::MakeSpan(is_taken)));
      bases.push_back(y->address());
    }
    absl::InlinedVector<Tensor, 4> temporaries;
    for (const Shape& shape : plan->temporaries) {
      ASSIGN_OR_RETURN(temporaries.emplace_back(), ctx.AllocateTemp(DType::kFloat, shape));
      bases.push_back(temporaries.back().address());
    }
    for (const ElementwiseSweep& sweep : plan->sweeps) {
      RETURN_IF_ERROR(functions_->Run(ctx, sweep, bases));
    }
    return absl::OkStatus();
  }

 private:
  using Plan = ElementwiseProgram::Plan;
  static constexpr size_t kMaxPlans = 8;

  absl::StatusOr<std::shared_ptr<const Plan>> PlanFor(KernelContext& ctx) {
    {
      absl::ReaderMutexLock lock(&mu_);
      for (const auto& plan : plans_) {
        if (IsFor(*plan, ctx)) return plan;
      }
    }
    std::vector<Shape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    ASSIGN_OR_RETURN(Plan made, program_.MakePlan(std::move(shapes)));
    auto plan = std::make_shared<const Plan>(std::move(made));
    absl::MutexLock lock(&mu_);
    if (plans_.size() == kMaxPlans) plans_.erase(plans_.begin());
    plans_.push_back(plan);
    return plan;
  }

  static bool IsFor(const Plan& plan, const KernelContext& ctx) {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!(plan.input_shapes[i] == ctx.input(i).shape())) return false;
    }
    return true;
  }

  static absl::StatusOr<Tensor*> ForwardOrAllocate(KernelContext& ctx, const Plan& plan, int output,
                                                   absl::Span<bool> is_taken) {
    for (const int input : plan.forwards[output]) {
      if (is_taken[input] || !ctx.IsLastUse(input) || !ctx.input(input).CanWriteInPlace()) continue;
      is_taken[input] = true;
      return ctx.ForwardOrAllocateOutput({input}, output, plan.output_shapes[output]);
    }
    return ctx.AllocateOutput(output, plan.output_shapes[output]);
  }

  const ElementwiseProgram program_;
  std::unique_ptr<FusedElementwise> functions_;
  absl::Mutex mu_;
  std::vector<std::shared_ptr<const Plan>> plans_ ABSL_GUARDED_BY(mu_);  // the newest last
};
REGISTER_KERNEL("_FusedElementwise", DevicesOf<FusedElementwise>, FusedElementwiseKernel);

}  // namespace
}  // namespace tessera
