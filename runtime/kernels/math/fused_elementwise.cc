// Elementwise ops that a pass has joined (runtime/optimize/fuse_elementwise.h).
#include "runtime/kernels/primitives/fused_elementwise.h"

#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/math/elementwise_program.h"
#include "runtime/kernels/primitives/plan_cache.h"

namespace tessera {
namespace {

class FusedElementwiseKernel : public OpKernel {
 public:
  explicit FusedElementwiseKernel(const KernelBuild& build) : program_(build) {
    if (!build.status().ok()) return;
    functions_ = Primitive<FusedElementwise>(build)(build, program_.Functions());
  }

  absl::Status Compute(KernelContext& ctx) override {
    if (const Plan* const plan = plans_.Find(ctx)) return Run(ctx, *plan);
    std::vector<Shape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    ASSIGN_OR_RETURN(auto made, program_.MakePlan(std::move(shapes)));
    const Plan plan{std::move(made)};
    plans_.Insert(plan);
    return Run(ctx, plan);
  }

 private:
  struct Plan : ElementwiseProgram::Plan {
    bool IsFor(const KernelContext& ctx) const {
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        if (!(input_shapes[i] == ctx.input(i).shape())) return false;
      }
      return true;
    }
  };

  absl::Status Run(KernelContext& ctx, const Plan& plan) const {
    absl::InlinedVector<char*, 16> bases;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      bases.push_back(const_cast<char*>(ctx.input(i).address()));
    }
    absl::InlinedVector<bool, 16> is_taken(ctx.num_inputs(), false);
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor* const y, ForwardOrAllocate(ctx, plan, i, absl::MakeSpan(is_taken)));
      bases.push_back(y->address());
    }
    absl::InlinedVector<Tensor, 4> temporaries;
    for (const Shape& shape : plan.temporaries) {
      ASSIGN_OR_RETURN(temporaries.emplace_back(), ctx.AllocateTemp(DType::kFloat, shape));
      bases.push_back(temporaries.back().address());
    }
    for (const ElementwiseSweep& sweep : plan.sweeps) {
      RETURN_IF_ERROR(functions_->Run(ctx, sweep, bases));
    }
    return absl::OkStatus();
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
  PlanCache<Plan> plans_;
};
REGISTER_KERNEL("_FusedElementwise", DevicesOf<FusedElementwise>, FusedElementwiseKernel);

}  // namespace
}  // namespace tessera
