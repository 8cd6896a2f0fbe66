// GELU where no product takes it in.
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/elementwise.h"

namespace tessera {
namespace {

class GeluKernel : public OpKernel {
 public:
  explicit GeluKernel(const KernelBuild& build)
      : gelu_(Primitive<Elementwise>(build)(
            build, {build.attr<bool>("approximate") ? "ApproximateGelu" : "Gelu", DType::kFloat})) {
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    LoopBlock row;
    row.columns = x.num_elements();
    row.data[1] = x.address();
    ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
    row.data[0] = y->address();
    row.column_stride[0] = row.column_stride[1] = sizeof(float);
    return row.columns == 0 ? absl::OkStatus() : gelu_->RunRow(ctx, row);
  }

 private:
  const std::unique_ptr<Elementwise> gelu_;
};
REGISTER_KERNEL("_Gelu", DevicesOf<Elementwise>, GeluKernel);

}  // namespace
}  // namespace tessera
