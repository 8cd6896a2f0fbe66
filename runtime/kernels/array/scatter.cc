// Writing slices by index: into new tensors (ScatterNd), copies (TensorScatter*) and variables, by
// reference (Scatter*, ScatterNd*) or by handle (ResourceScatter*, ResourceScatterNd*).
#include "runtime/kernels/primitives/scatter.h"

#include <algorithm>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/array/scatter_op.h"
#include "runtime/kernels/array/slice_index.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

absl::Status UpdatesShapeError(const Tensor& updates, const Tensor& indices, const Shape& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("updates of shape ", updates.shape().ToString(), " do not fit indices of shape ",
                   indices.shape().ToString(), " into a tensor of shape ", shape.ToString()));
}

// Errors: INVALID_ARGUMENT unless `updates` has shape indices[:-1] + target[depth:].
absl::Status CheckUpdates(int depth, const Tensor& indices, const Tensor& updates,
                          const Shape& target) {
  const int batch = indices.rank() - 1;
  bool fits = updates.rank() == batch + target.rank() - depth;
  for (int d = 0; fits && d < updates.rank(); ++d) {
    fits = updates.dim(d) == (d < batch ? indices.dim(d) : target.dim(d - batch + depth));
  }
  return fits ? absl::OkStatus() : UpdatesShapeError(updates, indices, target);
}

// What indices that are a vector mean. TensorFlow's ops on tensors check them as the coordinates of
// one slice and as numbers of rows, which no updates fit. Those on variables take them for numbers
// of rows, and change the first of these rows alone.
enum class VectorIndices { kRefused, kFirstRow };

// Combines updates into a tensor at coordinates.
class CoordinateScatter {
 public:
  CoordinateScatter(const KernelBuild& build, VectorIndices vector_indices)
      : ravel_(build),
        scatter_(build),
        bad_indices_(BadIndicesPolicy(build)),
        vector_indices_(vector_indices) {}

  absl::Status Run(KernelContext& ctx, ScatterOp op, const Tensor& indices, const Tensor& updates,
                   Tensor* target) const {
    if (updates.rank() == 0) {
      return absl::InvalidArgumentError("updates must have one dimension or more, are a scalar");
    }
    if (target->num_elements() == 0 && (indices.num_elements() > 0 || updates.num_elements() > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are indices or updates for an empty output of shape ",
                       target->shape().ToString()));
    }
    if (indices.num_elements() == 0 && updates.num_elements() > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are updates of shape ", updates.shape().ToString(), ", but no indices for them"));
    }
    if (indices.rank() == 1 && target->num_elements() > 0) {
      if (vector_indices_ == VectorIndices::kRefused) {
        return UpdatesShapeError(updates, indices, target->shape());
      }
      ASSIGN_OR_RETURN(const Tensor rows, indices.Reshaped({indices.dim(0), 1}));
      RETURN_IF_ERROR(CheckUpdates(1, rows, updates, target->shape()));
      if (rows.dim(0) == 0) return absl::OkStatus();
      return Write(ctx, op, rows.Slice(0, 1), updates.Slice(0, 1), target);
    }
    return Write(ctx, op, indices, updates, target);
  }

 private:
  absl::Status Write(KernelContext& ctx, ScatterOp op, const Tensor& indices, const Tensor& updates,
                     Tensor* target) const {
    ASSIGN_OR_RETURN(const SliceIndex index,
                     SliceIndex::Make(ctx, ravel_, target->shape(), indices, bad_indices_));
    RETURN_IF_ERROR(CheckUpdates(index.depth, indices, updates, target->shape()));
    // The positions are in range, or negative to be skipped.
    return scatter_(ctx, op, {.size = index.size, .slice = index.slice}, index.positions,
                    BadIndices::kSkip, updates, target);
  }

  const Primitive<RavelMultiIndex> ravel_;
  const Primitive<Scatter> scatter_;
  const BadIndices bad_indices_;
  const VectorIndices vector_indices_;
};

// Zeros of a given shape, with updates added where indices say.
class ScatterNdKernel : public OpKernel {
 public:
  explicit ScatterNdKernel(const KernelBuild& build)
      : fill_(build), scatter_(build, VectorIndices::kRefused) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(2).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be a vector, has shape ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(2), "shape"));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(fill_(ctx, nullptr, output));
    return scatter_.Run(ctx, ScatterOp::kAdd, ctx.input(0), ctx.input(1), output);
  }

 private:
  const Primitive<Fill> fill_;
  const CoordinateScatter scatter_;
};
REGISTER_KERNEL("ScatterNd", (DevicesOf<Fill, RavelMultiIndex, Scatter>), ScatterNdKernel)
    .TypeConstraint("Tindices", {DType::kInt32, DType::kInt64})
    .HostMemory("shape");

// The input with some slices changed; in place if nobody else holds it.
class TensorScatterKernel : public OpKernel {
 public:
  explicit TensorScatterKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)),
        scatter_(build, build.op().name == "ScatterNdNonAliasingAdd" ? VectorIndices::kFirstRow
                                                                     : VectorIndices::kRefused) {}
  absl::Status Compute(KernelContext& ctx) override {
    Tensor output = ctx.TakeInput(0);
    if (output.rank() == 0) return absl::InvalidArgumentError("the tensor must not be a scalar");
    RETURN_IF_ERROR(MakeWritable(ctx, &output));
    RETURN_IF_ERROR(scatter_.Run(ctx, op_, ctx.input(1), ctx.input(2), &output));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  const ScatterOp op_;
  const CoordinateScatter scatter_;
};
REGISTER_KERNEL("TensorScatterUpdate", (DevicesOf<RavelMultiIndex, Scatter>), TensorScatterKernel);
REGISTER_KERNEL("TensorScatterAdd", (DevicesOf<RavelMultiIndex, Scatter>), TensorScatterKernel);
REGISTER_KERNEL("TensorScatterSub", (DevicesOf<RavelMultiIndex, Scatter>), TensorScatterKernel);
REGISTER_KERNEL("TensorScatterMin", (DevicesOf<RavelMultiIndex, Scatter>), TensorScatterKernel);
REGISTER_KERNEL("TensorScatterMax", (DevicesOf<RavelMultiIndex, Scatter>), TensorScatterKernel);
REGISTER_KERNEL("ScatterNdNonAliasingAdd", (DevicesOf<RavelMultiIndex, Scatter>),
                TensorScatterKernel);

// A variable changed at coordinates (the Nd family).
class VariableScatterNdKernel : public OpKernel {
 public:
  explicit VariableScatterNdKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)), scatter_(build, VectorIndices::kFirstRow) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& value) -> absl::Status {
      RETURN_IF_ERROR(CheckVariableType(value, ctx.input(2).dtype()));
      return scatter_.Run(ctx, op_, ctx.input(1), ctx.input(2), &value);
    }));
    if (ctx.num_outputs() > 0) ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }

 private:
  const ScatterOp op_;
  const CoordinateScatter scatter_;
};
REGISTER_KERNEL("ScatterNdUpdate", (DevicesOf<RavelMultiIndex, Scatter>), VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdAdd", (DevicesOf<RavelMultiIndex, Scatter>), VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdSub", (DevicesOf<RavelMultiIndex, Scatter>), VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdMin", (DevicesOf<RavelMultiIndex, Scatter>), VariableScatterNdKernel);
REGISTER_KERNEL("ScatterNdMax", (DevicesOf<RavelMultiIndex, Scatter>), VariableScatterNdKernel);
REGISTER_KERNEL("ResourceScatterNdUpdate", (DevicesOf<RavelMultiIndex, Scatter>),
                VariableScatterNdKernel)
    .HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdAdd", (DevicesOf<RavelMultiIndex, Scatter>),
                VariableScatterNdKernel)
    .HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdSub", (DevicesOf<RavelMultiIndex, Scatter>),
                VariableScatterNdKernel)
    .HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdMin", (DevicesOf<RavelMultiIndex, Scatter>),
                VariableScatterNdKernel)
    .HostMemory("ref");
REGISTER_KERNEL("ResourceScatterNdMax", (DevicesOf<RavelMultiIndex, Scatter>),
                VariableScatterNdKernel)
    .HostMemory("ref");

// Errors: INVALID_ARGUMENT for a zero among updates that the host can read, as TensorFlow's kernels
// on a CPU say.
absl::Status RefuseZeros(const Tensor& updates) {
  if (!IsHostAccessible(updates.memory_kind())) return absl::OkStatus();
  return VisitNumericType(updates.dtype(), [&]<typename T>() -> absl::Status {
    const auto values = updates.flat<T>();
    if (std::find(values.begin(), values.end(), T(0)) == values.end()) return absl::OkStatus();
    return absl::InvalidArgumentError("updates must not contain 0");
  });
}

// Rows of a variable changed: updates have shape indices.shape + variable.shape[1:], or are a
// scalar for all rows.
class VariableScatterKernel : public OpKernel {
 public:
  explicit VariableScatterKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)),
        refuses_zeros_(build.op().name == "ResourceScatterDiv"),
        scatter_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& value) -> absl::Status {
      RETURN_IF_ERROR(CheckVariableType(value, ctx.input(2).dtype()));
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
    if (refuses_zeros_) RETURN_IF_ERROR(RefuseZeros(updates));
    return scatter_(ctx, op_,
                    {.size = value->dim(0), .slice = DimProduct(value->shape(), 1, value->rank())},
                    indices, BadIndices::kError, updates, value);
  }

  const ScatterOp op_;
  const bool refuses_zeros_;  // even of floating-point numbers
  const Primitive<Scatter> scatter_;
};
REGISTER_KERNEL("ScatterUpdate", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ScatterAdd", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ScatterSub", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ScatterMul", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ScatterDiv", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ScatterMin", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ScatterMax", DevicesOf<Scatter>, VariableScatterKernel);
REGISTER_KERNEL("ResourceScatterUpdate", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");
REGISTER_KERNEL("ResourceScatterAdd", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");
REGISTER_KERNEL("ResourceScatterSub", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");
REGISTER_KERNEL("ResourceScatterMul", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");
REGISTER_KERNEL("ResourceScatterDiv", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");
REGISTER_KERNEL("ResourceScatterMin", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");
REGISTER_KERNEL("ResourceScatterMax", DevicesOf<Scatter>, VariableScatterKernel)
    .HostMemory("resource");

}  // namespace
}  // namespace tessera
