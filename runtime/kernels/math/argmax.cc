// ArgMax and ArgMin along one dimension.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/arg_max.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT for an axis that is no scalar, out of range, or of size 0.
class ArgKernel : public OpKernel {
 public:
  explicit ArgKernel(const KernelBuild& build)
      : arg_max_(build), kind_(build.op().name == "ArgMax" ? ReduceKind::kMax : ReduceKind::kMin) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat("'dimension' must be a scalar, has shape ",
                                                     ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(1), x.rank(), "dimension"));
    if (x.dim(axis) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("nothing to choose from along axis ", axis,
                                                     " of shape ", x.shape().ToString()));
    }
    Shape shape = x.shape();
    shape.RemoveDim(axis);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    return arg_max_(ctx, kind_, x, axis, y);
  }

 private:
  const Primitive<ArgMax> arg_max_;
  const ReduceKind kind_;
};
REGISTER_KERNEL("ArgMax", DevicesOf<ArgMax>, ArgKernel)
    .TypeConstraint("T", DTypeList(kReal | kBool))
    .HostMemory("dimension");
REGISTER_KERNEL("ArgMin", DevicesOf<ArgMax>, ArgKernel)
    .TypeConstraint("T", DTypeList(kReal | kBool))
    .HostMemory("dimension");

}  // namespace
}  // namespace tessera
