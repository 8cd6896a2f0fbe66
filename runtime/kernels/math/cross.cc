// Cross: vector products in three dimensions.
#include <array>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/wrapping.h"

namespace tessera {
namespace {

template <typename T>
std::array<WrappingType<T>, 3> Vector(const T* from) {
  return {static_cast<WrappingType<T>>(from[0]), static_cast<WrappingType<T>>(from[1]),
          static_cast<WrappingType<T>>(from[2])};
}

// Errors: INVALID_ARGUMENT for different shapes; FAILED_PRECONDITION for vectors of another length.
class CrossKernel : public OpKernel {
 public:
  explicit CrossKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (!(a.shape() == b.shape()) || a.rank() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("operands must be vectors of one shape, have shapes ", a.shape().ToString(),
                       " and ", b.shape().ToString()));
    }
    if (a.dim(a.rank() - 1) != 3) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cross products are of vectors of three elements, not of shape ", a.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * product, ctx.AllocateOutput(0, a.shape()));
    return VisitRealType(a.dtype(), [&]<typename T>() {
      ctx.ParallelFor(a.num_elements() / 3, 5, [&](int64_t begin, int64_t end) {
        for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
          const std::array<WrappingType<T>, 3> u = Vector(a.data<T>() + i);
          const std::array<WrappingType<T>, 3> v = Vector(b.data<T>() + i);
          T* const w = product->data<T>() + i;
          w[0] = static_cast<T>(u[1] * v[2] - u[2] * v[1]);
          w[1] = static_cast<T>(u[2] * v[0] - u[0] * v[2]);
          w[2] = static_cast<T>(u[0] * v[1] - u[1] * v[0]);
        }
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("Cross", kCpu, CrossKernel).TypeConstraint("T", DTypeList(kReal));

}  // namespace
}  // namespace tessera
