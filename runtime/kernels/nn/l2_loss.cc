// L2Loss: half the sum of squares.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cpu/reducers.h"
#include "runtime/kernels/primitives/cpu/typed_reduction.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

struct HalfSquares : reduce::EuclideanNorm {
  template <typename T>
  T Result(T acc, int64_t) const {
    return acc / 2;
  }
};

class L2LossKernel : public OpKernel {
 public:
  explicit L2LossKernel(const KernelBuild& build)
      : loops_(build.output_types()[0] == DType::kDouble
                   ? MakeReductionLoops<HalfSquares, double>()
                   : MakeReductionLoops<HalfSquares, float>()) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const absl::InlinedVector<bool, 6> all(x.rank(), true);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, Shape()));
    RunReduction(ReductionPlan(x.shape(), all), loops_, x.dtype(), x.raw(), y->mutable_raw(),
                 ctx.pool());
    return absl::OkStatus();
  }

 private:
  const ReductionLoops loops_;
};
REGISTER_KERNEL("L2Loss", kCpu, L2LossKernel).TypeConstraint("T", DTypeList(kFloating));

}  // namespace
}  // namespace tessera
