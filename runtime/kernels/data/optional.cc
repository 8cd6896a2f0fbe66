// OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue.
#include "runtime/kernels/data/optional.h"

#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

absl::StatusOr<std::shared_ptr<const OptionalValue>> OptionalInput(const KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.dtype() == DType::kVariant && input.rank() == 0) {
    if (auto optional = input.scalar<Variant>().share<OptionalValue>()) return optional;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input 0 must be a scalar that holds an optional, is ", input.ToString()));
}

class FromValueKernel final : public OpKernel {
 public:
  explicit FromValueKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, OptionalTensor(InputsIn(ctx, {0, ctx.num_inputs()})));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("OptionalFromValue", kCpu, FromValueKernel);

class NoneKernel final : public OpKernel {
 public:
  explicit NoneKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, OptionalTensor(absl::nullopt));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("OptionalNone", kCpu, NoneKernel);

class HasValueKernel final : public OpKernel {
 public:
  explicit HasValueKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto optional, OptionalInput(ctx));
    return SetScalarOutput(ctx, 0, optional->element().has_value());
  }
};
REGISTER_KERNEL("OptionalHasValue", kCpu, HasValueKernel);

// Errors: INVALID_ARGUMENT for an empty optional, or one of other dtypes or shapes.
class GetValueKernel final : public OpKernel {
 public:
  explicit GetValueKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto optional, OptionalInput(ctx));
    if (!optional->element().has_value()) {
      return absl::InvalidArgumentError("The given optional does not have a value.");
    }
    const Element& element = *optional->element();
    RETURN_IF_ERROR(spec_.CheckElement(element));
    for (size_t i = 0; i < element.size(); ++i) ctx.set_output(static_cast<int>(i), element[i]);
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("OptionalGetValue", kCpu, GetValueKernel);

}  // namespace
}  // namespace tessera
