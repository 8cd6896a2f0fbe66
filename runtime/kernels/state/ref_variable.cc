// Variables by reference, as v1 graphs have them.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

constexpr absl::string_view kTemporaryTypeName = "temporary_variable";

class RefVariableKernel : public OpKernel {
 public:
  explicit RefVariableKernel(const KernelBuild& build)
      : container_(build.attr<std::string>("container")),
        name_(build.attr<std::string>("shared_name").empty()
                  ? build.node_name()
                  : build.attr<std::string>("shared_name")),
        dtype_(build.attr<DType>("dtype")),
        shape_(build.attr<PartialShape>("shape")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Resource> resource,
                     ctx.resources().LookupOrCreate(
                         container_, Variable::kRefTypeName, name_,
                         [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
                           return IntrusivePtr<Resource>(MakeRefCounted<Variable>(dtype_, shape_));
                         }));
    IntrusivePtr<Variable> variable(static_cast<Variable*>(resource.get()));
    if (variable->dtype() != dtype_) {
      return absl::InternalError(absl::StrCat("the variable '", name_, "' is one of ",
                                              DTypeName(variable->dtype()), ", not of ",
                                              DTypeName(dtype_)));
    }
    ctx.set_ref_output(0, std::move(variable));
    return absl::OkStatus();
  }

 private:
  const std::string container_, name_;
  const DType dtype_;
  const PartialShape shape_;
};
REGISTER_KERNEL("VariableV2", kAnyDevice, RefVariableKernel);
REGISTER_KERNEL("Variable", kAnyDevice, RefVariableKernel);

// With `validate_shape`, a new value must have the shape of the old one or, if there is none, fit
// the declared shape.
class AssignKernel : public OpKernel {
 public:
  explicit AssignKernel(const KernelBuild& build)
      : validate_shape_(build.attr<bool>("validate_shape")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    Tensor value = ctx.TakeInput(1);
    if (validate_shape_) {
      const Tensor old = variable->Read();
      const PartialShape expected =
          old.has_value() ? PartialShape(old.shape()) : variable->declared_shape();
      if (!expected.IsCompatibleWith(value.shape())) {
        return absl::InvalidArgumentError(
            absl::StrCat("a value of shape ", value.shape().ToString(),
                         " cannot be assigned to a variable of shape ", expected.ToString()));
      }
    }
    variable->Assign(std::move(value));
    ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }

 private:
  const bool validate_shape_;
};
REGISTER_KERNEL("Assign", kAnyDevice, AssignKernel);

class IsVariableInitializedKernel : public OpKernel {
 public:
  explicit IsVariableInitializedKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    return SetScalarOutput(ctx, 0, variable->initialized());
  }
};
REGISTER_KERNEL("IsVariableInitialized", kAnyDevice, IsVariableInitializedKernel)
    .HostMemory("is_initialized");

// Counts a variable up and gives its value before. Errors: OUT_OF_RANGE at the limit.
class CountUpToKernel : public OpKernel {
 public:
  explicit CountUpToKernel(const KernelBuild& build) : limit_(build.attr<int64_t>("limit")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    return UpdateVariable(ctx, *variable, [&](Tensor& value) -> absl::Status {
      if (value.rank() != 0 || value.dtype() != ctx.output_type(0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the variable must be a scalar ", DTypeName(ctx.output_type(0)), ", is ",
                         DTypeName(value.dtype()), value.shape().ToString()));
      }
      ASSIGN_OR_RETURN(Tensor before, ctx.CopyOf(value));
      if (value.dtype() == DType::kInt64) {
        RETURN_IF_ERROR(Increment<int64_t>(&value));
      } else {
        RETURN_IF_ERROR(Increment<int32_t>(&value));
      }
      ctx.set_output(0, std::move(before));
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  absl::Status Increment(Tensor* value) const {
    T& count = value->scalar<T>();
    if (count >= limit_) {
      return absl::OutOfRangeError(absl::StrCat("reached the limit of ", limit_));
    }
    ++count;
    return absl::OkStatus();
  }

  const int64_t limit_;
};
REGISTER_KERNEL("CountUpTo", kCpu, CountUpToKernel);
REGISTER_KERNEL("ResourceCountUpTo", kCpu, CountUpToKernel);

// A variable of zeros that lives until DestroyTemporaryVariable, or the step's end.
class TemporaryVariableKernel : public OpKernel {
 public:
  explicit TemporaryVariableKernel(const KernelBuild& build)
      : name_(build.attr<std::string>("var_name").empty() ? build.node_name()
                                                          : build.attr<std::string>("var_name")),
        dtype_(build.attr<DType>("dtype")),
        shape_(build.attr<PartialShape>("shape")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, shape_.AsShape());
    ASSIGN_OR_RETURN(Tensor value, ctx.AllocateZeros(dtype_, shape));
    auto variable = MakeRefCounted<Variable>(dtype_, shape_);
    variable->Assign(std::move(value));
    RETURN_IF_ERROR(ctx.step().step_resources->Create("", kTemporaryTypeName, name_, variable));
    ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};
REGISTER_KERNEL("TemporaryVariable", kCpu, TemporaryVariableKernel);

// The last value of a temporary variable, which ends here.
class DestroyTemporaryVariableKernel : public OpKernel {
 public:
  explicit DestroyTemporaryVariableKernel(const KernelBuild& build)
      : name_(build.attr<std::string>("var_name")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    ctx.set_output(0, variable->Read());
    return ctx.step().step_resources->Delete("", kTemporaryTypeName, name_);
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("DestroyTemporaryVariable", kCpu, DestroyTemporaryVariableKernel);

}  // namespace
}  // namespace tessera
