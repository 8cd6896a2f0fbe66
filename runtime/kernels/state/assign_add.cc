// Adding to a variable in place, by reference (v1) or by handle.
#include <memory>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/elementwise.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT if the variable has another shape or dtype than what is added.
class AssignAddKernel : public OpKernel {
 public:
  explicit AssignAddKernel(const KernelBuild& build)
      : dtype_(build.input_types()[1]),
        add_(Primitive<Elementwise>(build)(
            build, {absl::StartsWith(build.op().name, "AssignAdd") ? "AddV2" : "Sub", dtype_})) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    RETURN_IF_ERROR(UpdateVariable(
        ctx, *variable, [&](Tensor& value) { return AddTo(ctx, ctx.input(1), &value); }));
    if (ctx.num_outputs() > 0) ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }

 private:
  absl::Status AddTo(KernelContext& ctx, const Tensor& delta, Tensor* value) const {
    if (value->dtype() != dtype_ || !(delta.shape() == value->shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("a variable of ", DTypeName(value->dtype()), value->shape().ToString(),
                       " cannot be changed by ", DTypeName(dtype_), delta.shape().ToString()));
    }
    if (value->num_elements() == 0) return absl::OkStatus();
    LoopBlock row;
    row.columns = value->num_elements();
    row.data[0] = row.data[1] = value->address();
    row.data[2] = delta.address();
    row.column_stride[0] = row.column_stride[1] = row.column_stride[2] =
        static_cast<int64_t>(DTypeSize(dtype_));
    return add_->RunRow(ctx, row);
  }

  const DType dtype_;
  const std::unique_ptr<Elementwise> add_;
};
REGISTER_KERNEL("AssignAdd", DevicesOf<Elementwise>, AssignAddKernel)
    .TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("AssignSub", DevicesOf<Elementwise>, AssignAddKernel)
    .TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("AssignAddVariableOp", DevicesOf<Elementwise>, AssignAddKernel)
    .TypeConstraint("dtype", DTypeList(kNumeric))
    .HostMemory("resource");
REGISTER_KERNEL("AssignSubVariableOp", DevicesOf<Elementwise>, AssignAddKernel)
    .TypeConstraint("dtype", DTypeList(kNumeric))
    .HostMemory("resource");

}  // namespace
}  // namespace tessera
