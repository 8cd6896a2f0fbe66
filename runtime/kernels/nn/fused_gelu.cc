// GELU where no product takes it in.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cpu/vector_math.h"

namespace tessera {
namespace {

class GeluKernel : public OpKernel {
 public:
  explicit GeluKernel(const KernelBuild& build) : approximate_(build.attr<bool>("approximate")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const int64_t count = ctx.input(0).num_elements();
    const float* const x = ctx.input(0).data<float>();
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    float* const y = output->data<float>();
    ctx.ParallelFor(count, 2, [&](int64_t begin, int64_t end) {
      if (approximate_) {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) y[i] = math::ApproximateGelu(x[i]);
      } else {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) y[i] = math::Gelu(x[i]);
      }
    });
    return absl::OkStatus();
  }

 private:
  const bool approximate_;
};
REGISTER_KERNEL("_Gelu", kCpu, GeluKernel);

}  // namespace
}  // namespace tessera
