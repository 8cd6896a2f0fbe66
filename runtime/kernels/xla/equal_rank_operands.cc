// XlaBroadcastHelper: two operands with as many dimensions as each other, as XLA's binary ops want
// them.
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// Inputs: lhs, rhs, and the dimension of the larger one in which each dimension of the smaller one
// lies. Outputs: both, the smaller one with dimensions of 1 in between.
// Errors: INVALID_ARGUMENT for dimensions that are not rising or lie outside, or sizes that differ.
class BroadcastHelperKernel final : public OpKernel {
 public:
  explicit BroadcastHelperKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& lhs = ctx.input(0);
    const Tensor& rhs = ctx.input(1);
    ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(ctx.input(2), "broadcast_dims"));
    if (dims.empty()) {
      if (lhs.rank() != rhs.rank() && lhs.rank() != 0 && rhs.rank() != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "If broadcast_dims is empty, both arguments must have equal rank; argument shapes ",
            lhs.shape().ToString(), " and ", rhs.shape().ToString()));
      }
      ctx.set_output(0, lhs);
      ctx.set_output(1, rhs);
      return absl::OkStatus();
    }
    const int lesser = lhs.rank() <= rhs.rank() ? 0 : 1;
    const Tensor& small = ctx.input(lesser);
    const Tensor& large = ctx.input(1 - lesser);
    if (static_cast<int>(dims.size()) != small.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("broadcast_dims must have one element for each of ", small.rank(),
                       " dimensions of the smaller operand, has ", dims.size()));
    }
    IndexVector sizes(large.rank(), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || dims[i] >= large.rank() || (i > 0 && dims[i] <= dims[i - 1])) {
        return absl::InvalidArgumentError(absl::StrCat("broadcast_dims[", i, "] is ", dims[i],
                                                       ", which is not rising in [0, ",
                                                       large.rank(), ")"));
      }
      const int64_t size = small.dim(static_cast<int>(i));
      const int64_t there = large.dim(static_cast<int>(dims[i]));
      if (size != there && size != 1 && there != 1) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", i, " of size ", size,
                                                       " cannot be broadcast with one of ", there));
      }
      sizes[dims[i]] = size;
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
    ASSIGN_OR_RETURN(Tensor reshaped, small.Reshaped(shape));
    ctx.set_output(1 - lesser, large);
    ctx.set_output(lesser, std::move(reshaped));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("XlaBroadcastHelper", kCpu, BroadcastHelperKernel).HostMemory("broadcast_dims");

}  // namespace
}  // namespace tessera
