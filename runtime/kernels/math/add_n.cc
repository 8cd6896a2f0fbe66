// AddN: the sum of several tensors of one shape.
#include "runtime/kernels/primitives/add_n.h"

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/variant_arithmetic.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT for different shapes.
class AddNKernel : public OpKernel {
 public:
  explicit AddNKernel(const KernelBuild& build) : add_n_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    absl::InlinedVector<const char*, 8> addends;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!(ctx.input(i).shape() == shape)) {
        return absl::InvalidArgumentError(
            absl::StrCat("AddN needs inputs of one shape; input 0 has ", shape.ToString(),
                         ", input ", i, " has ", ctx.input(i).shape().ToString()));
      }
      addends.push_back(ctx.input(i).address());
    }
    if (addends.size() == 1) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * sum, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    return add_n_(ctx, sum->dtype(), shape.num_elements(), addends, sum->address());
  }

 private:
  const Primitive<AddN> add_n_;
};
REGISTER_KERNEL("AddN", DevicesOf<AddN>, AddNKernel).TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("AccumulateNV2", DevicesOf<AddN>, AddNKernel)
    .TypeConstraint("T", DTypeList(kNumeric));

// The sum of tensor lists or ragged tensors, element by element: what gradients of loops add up.
class AddNVariantsKernel : public OpKernel {
 public:
  explicit AddNVariantsKernel(const KernelBuild& build) : add_n_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).rank() != 0) {
        return absl::InvalidArgumentError(absl::StrCat("AddN of variants needs scalars; input ", i,
                                                       " has shape ",
                                                       ctx.input(i).shape().ToString()));
      }
    }
    // A value that nobody else holds is added to in place.
    Tensor first = ctx.TakeInput(0);
    Variant sum = first.CanWriteInPlace() ? std::move(first.scalar<Variant>())
                                          : Variant(std::as_const(first).scalar<Variant>());
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Variant& next = ctx.input(i).scalar<Variant>();
      ASSIGN_OR_RETURN(sum, AddVariants(ctx, add_n_, std::move(sum), next));
    }
    return SetScalarOutput(ctx, 0, std::move(sum));
  }

 private:
  const Primitive<AddN> add_n_;
};
// The handles are the host's on every device; what they hold need not be.
REGISTER_KERNEL("AddN", kAnyDevice, AddNVariantsKernel).TypeConstraint<Variant>("T");

}  // namespace
}  // namespace tessera
