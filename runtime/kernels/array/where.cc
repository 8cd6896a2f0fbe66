// Where: the coordinates of the elements that are not zero.
#include <utility>

#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/non_zero.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Output [n, rank], in row-major order. NaN is not zero.
class WhereKernel : public OpKernel {
 public:
  explicit WhereKernel(const KernelBuild& build) : find_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() == 0) {
      return absl::InvalidArgumentError("a scalar has no positions: input must have dimensions");
    }
    ASSIGN_OR_RETURN(Tensor found, find_(ctx, input));
    ctx.set_output(0, std::move(found));
    return absl::OkStatus();
  }

 private:
  const Primitive<NonZero> find_;
};
REGISTER_KERNEL("Where", DevicesOf<NonZero>, WhereKernel);

}  // namespace
}  // namespace tessera
