// L2Loss: half the sum of squares.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {
namespace {

class L2LossKernel : public OpKernel {
 public:
  explicit L2LossKernel(const KernelBuild& build)
      : reduce_(Primitive<Reduce>(build)(ReduceKind::kHalfSumOfSquares, build.output_types()[0])) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const absl::InlinedVector<bool, 6> all(x.rank(), true);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, Shape()));
    return reduce_->Run(ctx, x, all, y);
  }

 private:
  const std::unique_ptr<Reduce> reduce_;
};
REGISTER_KERNEL("L2Loss", DevicesOf<Reduce>, L2LossKernel)
    .TypeConstraint("T", DTypeList(kFloating));

}  // namespace
}  // namespace tessera
