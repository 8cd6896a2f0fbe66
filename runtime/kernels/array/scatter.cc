// Writing slices by index: into new tensors (ScatterNd), copies (TensorScatter*) and variables, by
// reference (Scatter*, ScatterNd*) or by handle (ResourceScatter*, ResourceScatterNd*).
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/array/scatter_slices.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/slice_index.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

absl::Status UpdatesShapeError(const Tensor& updates, const Tensor& indices, const Shape& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("updates of shape ", updates.shape().ToString(), " do not fit indices of shape ",
                   indices.shape().ToString(), " into a tensor of shape ", shape.ToString()));
}

// Errors: INVALID_ARGUMENT unless `updates` has shape indices[:-1] + target[depth:].
absl::Status CheckUpdates(const SliceIndex& index, const Tensor& indices, const Tensor& updates,
                          const Shape& target) {
  const int batch = indices.rank() - 1;
  bool fits = updates.rank() == batch + target.rank() - index.depth;
  for (int d = 0; fits && d < updates.rank(); ++d) {
    fits = updates.dim(d) == (d < batch ? indices.dim(d) : target.dim(d - batch + index.depth));
  }
  return fits ? absl::OkStatus() : UpdatesShapeError(updates, indices, target);
}

// Combines `updates` into *target at coordinates. Scalar updates pass the check only where there is
// one slice of one element, so that the engine's repeating of scalars makes no difference.
absl::Status ScatterAt(KernelContext& ctx, ScatterOp op, const Tensor& indices,
                       const Tensor& updates, bool ignore_bad_indices, Tensor* target) {
  ASSIGN_OR_RETURN(const SliceIndex index,
                   SliceIndex::Make(ctx, target->shape(), indices, ignore_bad_indices));
  RETURN_IF_ERROR(CheckUpdates(index, indices, updates, target->shape()));
  return ScatterSlices(op, index.slices, index.slice, updates, target);
}

// Zeros of a given shape, with updates added where indices say.
class ScatterNdKernel : public OpKernel {
 public:
  explicit ScatterNdKernel(const KernelBuild& build)
      : ignore_bad_indices_(IgnoresBadIndices(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& updates = ctx.input(1);
    if (ctx.input(2).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be a vector, has shape ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(2), "shape"));
    if (shape.num_elements() == 0 && (indices.num_elements() > 0 || updates.num_elements() > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are indices or updates for an empty output of shape ", shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
    return ScatterAt(ctx, ScatterOp::kAdd, indices, updates, ignore_bad_indices_, output);
  }

 private:
  const bool ignore_bad_indices_;
};
REGISTER_KERNEL("ScatterNd", kCpu, ScatterNdKernel).HostMemory("shape");

// The input with some slices changed; in place if nobody else holds it.
class TensorScatterKernel : public OpKernel {
 public:
  explicit TensorScatterKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)), ignore_bad_indices_(IgnoresBadIndices(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    Tensor output = ctx.TakeInput(0);
    if (output.rank() == 0) return absl::InvalidArgumentError("the tensor must not be a scalar");
    RETURN_IF_ERROR(MakeWritable(ctx, &output));
    RETURN_IF_ERROR(ScatterAt(ctx, op_, ctx.input(1), ctx.input(2), ignore_bad_indices_, &output));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  const ScatterOp op_;
  const bool ignore_bad_indices_;
};
REGISTER_KERNEL("TensorScatterUpdate", kCpu, TensorScatterKernel);
REGISTER_KERNEL("TensorScatterAdd", kCpu, TensorScatterKernel);
REGISTER_KERNEL("TensorScatterSub", kCpu, TensorScatterKernel);
REGISTER_KERNEL("TensorScatterMin", kCpu, TensorScatterKernel);
REGISTER_KERNEL("TensorScatterMax", kCpu, TensorScatterKernel);
REGISTER_KERNEL("ScatterNdNonAliasingAdd", kCpu, TensorScatterKernel);

// A variable changed at coordinates (the Nd family).
class VariableScatterNdKernel : public OpKernel {
 public:
  explicit VariableScatterNdKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)), ignore_bad_indices_(IgnoresBadIndices(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& value) {
      return ScatterAt(ctx, op_, ctx.input(1), ctx.input(2), ignore_bad_indices_, &value);
    }));
    if (ctx.num_outputs() > 0) ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }

 private:
  const ScatterOp op_;
  const bool ignore_bad_indices_;
};
REGISTER_KERNEL("ScatterNdUpdate", kCpu, VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdAdd", kCpu, VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdSub", kCpu, VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdMin", kCpu, VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdMax", kCpu, VariableScatterNdKernel);
REGISTER_KERNEL("ResourceScatterNdUpdate", kCpu, VariableScatterNdKernel).HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdAdd", kCpu, VariableScatterNdKernel).HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdSub", kCpu, VariableScatterNdKernel).HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdMin", kCpu, VariableScatterNdKernel).HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdMax", kCpu, VariableScatterNdKernel).HostMemory("ref");

// Rows of a variable changed: updates have shape indices.shape + variable.shape[1:], or are a
// scalar for all rows.
class VariableScatterKernel : public OpKernel {
 public:
  explicit VariableScatterKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& value) {
      return ScatterRows(ctx, ctx.input(1), ctx.input(2), &value);
    }));
    if (ctx.num_outputs() > 0) ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }

 private:
  absl::Status ScatterRows(KernelContext& ctx, const Tensor& indices, const Tensor& updates,
                           Tensor* value) const {
    if (value->rank() < 1) return absl::InvalidArgumentError("the variable must not be a scalar");
    if (updates.rank() != 0) {
      bool fits = updates.rank() == indices.rank() + value->rank() - 1;
      for (int d = 0; fits && d < updates.rank(); ++d) {
        fits = updates.dim(d) ==
               (d < indices.rank() ? indices.dim(d) : value->dim(d - indices.rank() + 1));
      }
      if (!fits) return UpdatesShapeError(updates, indices, value->shape());
    }
    RETURN_IF_ERROR(CheckIndices(indices, value->dim(0)));
    ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemp(DType::kInt64, Shape{indices.num_elements()}));
    VisitIndexType(indices.dtype(), [&]<typename Index>() {
      std::copy_n(indices.data<Index>(), indices.num_elements(), rows.data<int64_t>());
    });
    return ScatterSlices(op_, rows, DimProduct(value->shape(), 1, value->rank()), updates, value);
  }

  const ScatterOp op_;
};
REGISTER_KERNEL("ScatterUpdate", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ScatterAdd", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ScatterSub", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ScatterMul", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ScatterDiv", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ScatterMin", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ScatterMax", kCpu, VariableScatterKernel);
REGISTER_KERNEL("ResourceScatterUpdate", kCpu, VariableScatterKernel).HostMemory("resource");
REGISTER_KERNEL("ResourceScatterAdd", kCpu, VariableScatterKernel).HostMemory("resource");
REGISTER_KERNEL("ResourceScatterSub", kCpu, VariableScatterKernel).HostMemory("resource");
REGISTER_KERNEL("ResourceScatterMul", kCpu, VariableScatterKernel).HostMemory("resource");
REGISTER_KERNEL("ResourceScatterDiv", kCpu, VariableScatterKernel).HostMemory("resource");
REGISTER_KERNEL("ResourceScatterMin", kCpu, VariableScatterKernel).HostMemory("resource");
REGISTER_KERNEL("ResourceScatterMax", kCpu, VariableScatterKernel).HostMemory("resource");

}  // namespace
}  // namespace tessera
