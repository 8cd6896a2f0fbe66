#include "runtime/kernels/array/slice_index.h"

#include "runtime/kernels/index_input.h"

namespace tessera {

BadIndices BadIndicesPolicy(const KernelBuild& build) {
  if (!build.has_attr("bad_indices_policy")) return BadIndices::kError;
  const std::string policy = build.attr<std::string>("bad_indices_policy");
  if (policy == "IGNORE") return BadIndices::kSkip;
  if (policy != "" && policy != "DEFAULT" && policy != "ERROR") {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("bad_indices_policy must be DEFAULT, ERROR or IGNORE, is '", policy, "'")));
  }
  return BadIndices::kError;
}

absl::StatusOr<SliceIndex> SliceIndex::Make(KernelContext& ctx,
                                            const Primitive<RavelMultiIndex>& ravel,
                                            const Shape& shape, const Tensor& indices,
                                            BadIndices bad_indices) {
  if (indices.rank() < 1) return absl::InvalidArgumentError("indices must be at least a vector");
  const int last = indices.rank() - 1;
  if (indices.dim(last) > shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the last dimension of indices holds ", indices.dim(last),
                     " coordinates, a tensor of shape ", shape.ToString(), " has fewer"));
  }
  SliceIndex result;
  result.depth = static_cast<int>(indices.dim(last));
  result.size = DimProduct(shape, 0, result.depth);
  result.slice = DimProduct(shape, result.depth, shape.rank());
  const int64_t count = DimProduct(indices.shape(), 0, last);
  ASSIGN_OR_RETURN(result.positions, ctx.AllocateTemp(DType::kInt64, Shape{count}));
  RETURN_IF_ERROR(ravel(ctx, shape, indices, bad_indices, &result.positions));
  return result;
}

}  // namespace tessera
