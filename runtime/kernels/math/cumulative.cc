// Running totals along an axis: Cumsum, Cumprod, CumulativeLogsumexp.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/scan.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT for an axis out of range or that is no scalar.
template <ScanKind kKind>
class CumulativeKernel : public OpKernel {
 public:
  explicit CumulativeKernel(const KernelBuild& build)
      : scan_(build),
        exclusive_(build.attr<bool>("exclusive")),
        reverse_(build.attr<bool>("reverse")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'axis' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(1), x.rank(), "axis"));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    const ScanOptions options = {
        .kind = kKind, .axis = axis, .exclusive = exclusive_, .reverse = reverse_};
    return scan_(ctx, options, x, y);
  }

 private:
  const Primitive<Scan> scan_;
  const bool exclusive_, reverse_;
};
REGISTER_KERNEL("Cumsum", DevicesOf<Scan>, CumulativeKernel<ScanKind::kSum>)
    .TypeConstraint("T", DTypeList(kNumeric))
    .HostMemory("axis");
REGISTER_KERNEL("Cumprod", DevicesOf<Scan>, CumulativeKernel<ScanKind::kProd>)
    .TypeConstraint("T", DTypeList(kNumeric))
    .HostMemory("axis");
REGISTER_KERNEL("CumulativeLogsumexp", DevicesOf<Scan>, CumulativeKernel<ScanKind::kLogSumExp>)
    .TypeConstraint("T", DTypeList(kFloating))
    .HostMemory("axis");

}  // namespace
}  // namespace tessera
