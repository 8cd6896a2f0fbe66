// Softmax and LogSoftmax over the last dimension.
#include "runtime/kernels/primitives/softmax.h"

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT for a scalar.
class SoftmaxKernel : public OpKernel {
 public:
  explicit SoftmaxKernel(const KernelBuild& build)
      : softmax_(build),
        kind_(build.op().name == "LogSoftmax" ? SoftmaxKind::kLogSoftmax : SoftmaxKind::kSoftmax) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    if (logits.rank() < 1) {
      return absl::InvalidArgumentError("logits must have at least one dimension, are a scalar");
    }
    const int64_t columns = logits.dim(logits.rank() - 1);
    const int64_t rows = columns == 0 ? 0 : logits.num_elements() / columns;
    ASSIGN_OR_RETURN(Tensor * output, ctx.ForwardOrAllocateOutput({0}, 0, logits.shape()));
    return softmax_(ctx, kind_, rows, columns, logits.has_value() ? logits : *output, output);
  }

 private:
  const Primitive<Softmax> softmax_;
  const SoftmaxKind kind_;
};
REGISTER_KERNEL("Softmax", DevicesOf<Softmax>, SoftmaxKernel)
    .TypeConstraint("T", DTypeList(kFloating));
REGISTER_KERNEL("LogSoftmax", DevicesOf<Softmax>, SoftmaxKernel)
    .TypeConstraint("T", DTypeList(kFloating));

}  // namespace
}  // namespace tessera
