// Variables by handle: making, reading, assigning, destroying.
#include <atomic>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// The name that stands for "no name" in graphs of eager-style code: the variable belongs to its
// handles.
constexpr absl::string_view kAnonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

// The handle of a variable, which is made, without a value, where there is none.
absl::StatusOr<Tensor> MakeHandle(KernelContext& ctx, const std::string& container,
                                  const std::string& name, DType dtype, const PartialShape& shape) {
  ResourceHandle handle;
  if (ctx.device() != nullptr) handle.device = ctx.device()->name().ToString();
  handle.container = container;
  handle.name = name;
  handle.type_name = std::string(Variable::kTypeName);
  handle.dtype = dtype;
  handle.shape = shape;
  auto make = [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
    return IntrusivePtr<Resource>(MakeRefCounted<Variable>(dtype, shape));
  };
  if (name == kAnonymousName) {
    ASSIGN_OR_RETURN(handle.resource, make());
  } else {
    ASSIGN_OR_RETURN(handle.resource,
                     ctx.resources().LookupOrCreate(container, Variable::kTypeName, name, make));
  }
  return Tensor::Scalar<ResourceHandle>(std::move(handle));
}

// Gives a variable's handle. The handle carries the variable and is made once for a session's
// resources, so that a step pays one reference count for it: a destroyed variable stays in its
// place without a value (see DestroyResourceKernel).
class VarHandleKernel : public OpKernel {
 public:
  explicit VarHandleKernel(const KernelBuild& build)
      : container_(build.attr<std::string>("container")),
        name_(build.attr<std::string>("shared_name").empty()
                  ? build.node_name()
                  : build.attr<std::string>("shared_name")),
        dtype_(build.attr<DType>("dtype")),
        shape_(build.attr<PartialShape>("shape")) {}
  ~VarHandleKernel() override { delete cached_.load(); }
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    const Cached* cached = cached_.load(std::memory_order_acquire);
    if (cached != nullptr && cached->resources == &ctx.resources()) {
      ctx.set_output(0, cached->handle);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor handle, MakeHandle(ctx, container_, name_, dtype_, shape_));
    if (cached == nullptr && name_ != kAnonymousName) {
      const Cached* fresh = new Cached{&ctx.resources(), handle};
      if (!cached_.compare_exchange_strong(cached, fresh, std::memory_order_acq_rel)) delete fresh;
    }
    ctx.set_output(0, std::move(handle));
    return absl::OkStatus();
  }

 private:
  struct Cached {
    const ResourceManager* resources;
    Tensor handle;
  };
  const std::string container_, name_;
  const DType dtype_;
  const PartialShape shape_;
  std::atomic<const Cached*> cached_{nullptr};
};
REGISTER_KERNEL("VarHandleOp", kAnyDevice, VarHandleKernel).HostMemory("resource");

// Several handles at once.
class VarHandlesKernel : public OpKernel {
 public:
  explicit VarHandlesKernel(const KernelBuild& build)
      : containers_(build.attr<std::vector<std::string>>("containers")),
        names_(build.attr<std::vector<std::string>>("shared_names")),
        dtypes_(build.attr<std::vector<DType>>("dtypes")),
        shapes_(build.attr<std::vector<PartialShape>>("shapes")) {
    const size_t n = build.num_outputs();
    if (build.status().ok() && (containers_.size() != n || names_.size() != n ||
                                dtypes_.size() != n || shapes_.size() != n)) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "containers, shared_names, dtypes and shapes must have N = ", n, " elements each")));
    }
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor handle,
                       MakeHandle(ctx, containers_[i], names_[i], dtypes_[i], shapes_[i]));
      ctx.set_output(i, std::move(handle));
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<std::string> containers_, names_;
  const std::vector<DType> dtypes_;
  const std::vector<PartialShape> shapes_;
};
REGISTER_KERNEL("_VarHandlesOp", kAnyDevice, VarHandlesKernel).HostMemory("resources");

// Shares the value of each variable.
class ReadVariableKernel : public OpKernel {
 public:
  explicit ReadVariableKernel(const KernelBuild& build) {
    if (build.input_types().size() != build.output_types().size()) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("N is ", build.input_types().size(), ", 'dtypes' has ",
                       build.output_types().size(), " elements")));
    }
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor value, ReadVariable(ctx, i));
      RETURN_IF_ERROR(CheckVariableType(value, ctx.output_type(i)));
      ctx.set_output(i, std::move(value));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ReadVariableOp", kAnyDevice, ReadVariableKernel).HostMemory("resource");
REGISTER_KERNEL("_ReadVariablesOp", kAnyDevice, ReadVariableKernel).HostMemory("resources");

// Gives a variable a value, whose memory it shares from then on.
class AssignVariableKernel : public OpKernel {
 public:
  explicit AssignVariableKernel(const KernelBuild& build)
      : validate_shape_(build.attr<bool>("validate_shape")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    const Tensor& value = ctx.input(1);
    if (variable->dtype() != value.dtype()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", variable->DebugString(), " cannot hold ", DTypeName(value.dtype())));
    }
    if (validate_shape_) {
      const Tensor old = variable->Read();
      if (old.has_value() && !(old.shape() == value.shape())) {
        return absl::InvalidArgumentError(absl::StrCat("the variable has shape ",
                                                       old.shape().ToString(), ", the new value ",
                                                       value.shape().ToString()));
      }
    }
    variable->Assign(ctx.TakeInput(1));
    return absl::OkStatus();
  }

 private:
  const bool validate_shape_;
};
REGISTER_KERNEL("AssignVariableOp", kAnyDevice, AssignVariableKernel).HostMemory("resource");

class VarIsInitializedKernel : public OpKernel {
 public:
  explicit VarIsInitializedKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const absl::StatusOr<IntrusivePtr<Variable>> variable = VariableInput(ctx, 0);
    return SetScalarOutput(ctx, 0, variable.ok() && (*variable)->initialized());
  }
};
REGISTER_KERNEL("VarIsInitializedOp", kAnyDevice, VarIsInitializedKernel)
    .HostMemory("resource")
    .HostMemory("is_initialized");

class VariableShapeKernel : public OpKernel {
 public:
  explicit VariableShapeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor value, ReadVariable(ctx, 0));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, {value.rank()}));
    for (int i = 0; i < value.rank(); ++i) {
      if (output->dtype() == DType::kInt64) {
        output->flat<int64_t>()[i] = value.dim(i);
      } else {
        output->flat<int32_t>()[i] = static_cast<int32_t>(value.dim(i));
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("VariableShape", kAnyDevice, VariableShapeKernel)
    .HostMemory("input")
    .HostMemory("output");

// A variable loses its value but keeps its place, since handles to it live on; any other resource
// leaves the manager.
class DestroyResourceKernel : public OpKernel {
 public:
  explicit DestroyResourceKernel(const KernelBuild& build)
      : ignore_missing_(build.attr<bool>("ignore_lookup_error")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.num_elements() < 1) return absl::InvalidArgumentError("the handle is empty");
    const ResourceHandle& handle = input.scalar<ResourceHandle>();
    absl::Status status;
    if (const absl::StatusOr<IntrusivePtr<Variable>> variable = VariableInput(ctx, 0);
        variable.ok()) {
      if (!(*variable)->initialized()) status = UninitializedError(**variable);
      (*variable)->Assign(Tensor());
    } else {
      status = ctx.resources().Delete(handle.container, handle.type_name, handle.name);
    }
    if (status.ok() || ignore_missing_) return absl::OkStatus();
    return absl::NotFoundError(status.message());
  }

 private:
  const bool ignore_missing_;
};
REGISTER_KERNEL("DestroyResourceOp", kAnyDevice, DestroyResourceKernel).HostMemory("resource");

// Reading always shares and writing always copies what is shared: nothing is left to switch off.
class DisableCopyOnReadKernel : public OpKernel {
 public:
  explicit DisableCopyOnReadKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override { return VariableInput(ctx, 0).status(); }
};
REGISTER_KERNEL("DisableCopyOnRead", kAnyDevice, DisableCopyOnReadKernel).HostMemory("resource");

}  // namespace
}  // namespace tessera
