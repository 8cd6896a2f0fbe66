// Picking slices by index: Gather, GatherV2, GatherNd, ResourceGather, ResourceGatherNd.
#include "runtime/kernels/primitives/gather.h"

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/array/slice_index.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// The first `batch_dims` dimensions of params and indices pair up. Sets output 0, of shape
// params[:axis] + indices[batch_dims:] + params[axis + 1:].
// Errors: INVALID_ARGUMENT, for the first index out of range among others. Where the slices are
// empty, `check_empty` says whether indices are checked.
absl::Status SetGathered(KernelContext& ctx, const Primitive<Gather>& gather, const Tensor& params,
                         const Tensor& indices, int64_t axis, int64_t batch_dims,
                         bool check_empty) {
  if (params.rank() < 1) return absl::InvalidArgumentError("params must be at least a vector");
  ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, params.rank(), "axis"));
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims > axis) {
    return absl::InvalidArgumentError(absl::StrCat("batch_dims ", batch_dims, " must lie in [0, ",
                                                   indices.rank(), "] and not exceed axis ", axis));
  }
  for (int d = 0; d < batch_dims; ++d) {
    if (params.dim(d) != indices.dim(d)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "params of shape ", params.shape().ToString(), " and indices of shape ",
          indices.shape().ToString(), " must agree in the ", batch_dims, " batch dimensions"));
    }
  }
  const int batch_rank = static_cast<int>(batch_dims), a = static_cast<int>(axis);
  IndexVector dims(params.shape().dims().begin(), params.shape().dims().begin() + a);
  dims.insert(dims.end(), indices.shape().dims().begin() + batch_rank,
              indices.shape().dims().end());
  dims.insert(dims.end(), params.shape().dims().begin() + a + 1, params.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));

  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, params.dtype(), shape));
  if (shape.num_elements() == 0 && !check_empty) return absl::OkStatus();
  return gather(ctx,
                {.batch = DimProduct(params.shape(), 0, batch_rank),
                 .outer = DimProduct(params.shape(), batch_rank, a),
                 .size = params.dim(a),
                 .picks = DimProduct(indices.shape(), batch_rank, indices.rank()),
                 .slice = DimProduct(params.shape(), a + 1, params.rank())},
                params, indices, BadIndices::kError, output);
}

class GatherKernel : public OpKernel {
 public:
  explicit GatherKernel(const KernelBuild& build)
      : gather_(build),
        batch_dims_(build.has_attr("batch_dims") ? build.attr<int64_t>("batch_dims") : 0) {}
  absl::Status Compute(KernelContext& ctx) override {
    int64_t axis = 0;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(axis, ReadIntegerOfScalar(ctx.input(2), "axis"));
    }
    return SetGathered(ctx, gather_, ctx.input(0), ctx.input(1), axis, batch_dims_,
                       /*check_empty=*/false);
  }

 private:
  const Primitive<Gather> gather_;
  const int64_t batch_dims_;
};
REGISTER_KERNEL("Gather", DevicesOf<Gather>, GatherKernel);
REGISTER_KERNEL("GatherV2", DevicesOf<Gather>, GatherKernel).HostMemory("axis");

// Rows of a variable, without copying the variable. As in TensorFlow, a bad index is an error even
// if the rows are empty.
class ResourceGatherKernel : public OpKernel {
 public:
  explicit ResourceGatherKernel(const KernelBuild& build)
      : gather_(build), batch_dims_(build.attr<int64_t>("batch_dims")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor params, ReadVariable(ctx, 0));
    RETURN_IF_ERROR(CheckVariableType(params, ctx.output_type(0)));
    return SetGathered(ctx, gather_, params, ctx.input(1), batch_dims_, batch_dims_,
                       /*check_empty=*/true);
  }

 private:
  const Primitive<Gather> gather_;
  const int64_t batch_dims_;
};
REGISTER_KERNEL("ResourceGather", DevicesOf<Gather>, ResourceGatherKernel).HostMemory("resource");

// Output slice i is params[indices[i]], where the last dimension of indices holds coordinates.
// Errors: INVALID_ARGUMENT for slices of an empty tensor, and with the first coordinates out of
// range, unless the policy is IGNORE: then their slices are zeros.
class GatherNdKernel : public OpKernel {
 public:
  explicit GatherNdKernel(const KernelBuild& build)
      : gather_(build), ravel_(build), bad_indices_(BadIndicesPolicy(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).dtype() != DType::kResource || ctx.output_type(0) == DType::kResource) {
      return SetGathered(ctx, ctx.input(0), ctx.input(1));
    }
    ASSIGN_OR_RETURN(const Tensor params, ReadVariable(ctx, 0));
    RETURN_IF_ERROR(CheckVariableType(params, ctx.output_type(0)));
    return SetGathered(ctx, params, ctx.input(1));
  }

 private:
  absl::Status SetGathered(KernelContext& ctx, const Tensor& params, const Tensor& indices) const {
    if (params.rank() < 1) return absl::InvalidArgumentError("params must be at least a vector");
    ASSIGN_OR_RETURN(const SliceIndex index,
                     SliceIndex::Make(ctx, ravel_, params.shape(), indices, bad_indices_));
    if (params.num_elements() == 0 && index.positions.num_elements() > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are indices, but params is empty: its shape is ", params.shape().ToString()));
    }
    IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
    dims.insert(dims.end(), params.shape().dims().begin() + index.depth,
                params.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, params.dtype(), shape));
    // The positions are in range, or negative to be skipped.
    return gather_(
        ctx, {.size = index.size, .picks = index.positions.num_elements(), .slice = index.slice},
        params, index.positions, BadIndices::kSkip, output);
  }

  const Primitive<Gather> gather_;
  const Primitive<RavelMultiIndex> ravel_;
  const BadIndices bad_indices_;
};
REGISTER_KERNEL("GatherNd", (DevicesOf<Gather, RavelMultiIndex>), GatherNdKernel);
REGISTER_KERNEL("ResourceGatherNd", (DevicesOf<Gather, RavelMultiIndex>), GatherNdKernel)
    .HostMemory("resource");

}  // namespace
}  // namespace tessera
