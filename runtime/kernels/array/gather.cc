// Picking slices by index: Gather, GatherV2, GatherNd, ResourceGather, ResourceGatherNd.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/slice_index.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// Copies `slice` elements from `from` to `to`. Slices of one word, as in look-ups of scalars, cost
// no call.
class SliceCopier {
 public:
  SliceCopier(DType dtype, int64_t slice)
      : dtype_(dtype), slice_(slice), bytes_(slice * static_cast<int64_t>(DTypeSize(dtype))) {
    if (!IsTriviallyCopyable(dtype)) bytes_ = -1;
  }
  void operator()(const char* from, char* to) const {
    if (bytes_ == 4) {
      std::memcpy(to, from, 4);
    } else if (bytes_ == 8) {
      std::memcpy(to, from, 8);
    } else if (bytes_ >= 0) {
      std::memcpy(to, from, static_cast<size_t>(bytes_));
    } else {
      CopyElements(dtype_, from, to, slice_);
    }
  }

 private:
  const DType dtype_;
  const int64_t slice_;
  int64_t bytes_;
};

// Gathers slices of `params` along `axis`. The first `batch_dims` dimensions of params and indices
// pair up. Sets output 0, of shape params[:axis] + indices[batch_dims:] + params[axis + 1:].
// Errors: INVALID_ARGUMENT with the first index out of range, unless the output is empty.
absl::Status Gather(KernelContext& ctx, const Tensor& params, const Tensor& indices, int64_t axis,
                    int64_t batch_dims) {
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

  const int64_t limit = params.dim(a);
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, params.dtype(), shape));
  if (shape.num_elements() == 0) return absl::OkStatus();  // whatever the indices are
  RETURN_IF_ERROR(CheckIndices(indices, limit));

  const int64_t outer = DimProduct(params.shape(), batch_rank, a);
  const int64_t picks = DimProduct(indices.shape(), batch_rank, indices.rank());
  const int64_t slice = DimProduct(params.shape(), a + 1, params.rank());
  const int64_t bytes = slice * static_cast<int64_t>(DTypeSize(params.dtype()));
  const SliceCopier copy(params.dtype(), slice);
  const int64_t rows = shape.num_elements() / slice;  // batch * outer * picks
  VisitIndexType(indices.dtype(), [&]<typename Index>() {
    const Index* index = indices.data<Index>();
    ctx.ParallelFor(rows, 2 + 0.2 * static_cast<double>(bytes), [&](int64_t begin, int64_t end) {
      int64_t plane = begin / picks;  // batch * outer
      int64_t pick = begin % picks;
      for (int64_t row = begin; row < end;) {
        const Index* batch = index + plane / outer * picks;
        const char* from = params.raw() + plane * limit * bytes;
        char* to = output->mutable_raw() + row * bytes;
        const int64_t stop = std::min(picks, pick + (end - row));
        for (; pick < stop; ++pick, ++row, to += bytes) {
          copy(from + static_cast<int64_t>(batch[pick]) * bytes, to);
        }
        pick = 0;
        ++plane;
      }
    });
  });
  return absl::OkStatus();
}

class GatherKernel : public OpKernel {
 public:
  explicit GatherKernel(const KernelBuild& build)
      : batch_dims_(build.has_attr("batch_dims") ? build.attr<int64_t>("batch_dims") : 0) {}
  absl::Status Compute(KernelContext& ctx) override {
    int64_t axis = 0;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(axis, ReadIndexScalar(ctx.input(2), "axis"));
    }
    return Gather(ctx, ctx.input(0), ctx.input(1), axis, batch_dims_);
  }

 private:
  const int64_t batch_dims_;
};
REGISTER_KERNEL("Gather", kCpu, GatherKernel);
REGISTER_KERNEL("GatherV2", kCpu, GatherKernel).HostMemory("axis");

// Rows of a variable, without copying the variable.
class ResourceGatherKernel : public OpKernel {
 public:
  explicit ResourceGatherKernel(const KernelBuild& build)
      : batch_dims_(build.attr<int64_t>("batch_dims")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor params, ReadVariable(ctx, 0));
    return Gather(ctx, params, ctx.input(1), batch_dims_, batch_dims_);
  }

 private:
  const int64_t batch_dims_;
};
REGISTER_KERNEL("ResourceGather", kCpu, ResourceGatherKernel).HostMemory("resource");

// Output slice i is params[indices[i]], where the last dimension of indices holds coordinates.
// Errors: INVALID_ARGUMENT with the first coordinates out of range, unless the policy is IGNORE:
// then their slices are zeros.
absl::Status GatherNd(KernelContext& ctx, const Tensor& params, const Tensor& indices,
                      bool ignore_bad_indices) {
  if (params.rank() < 1) return absl::InvalidArgumentError("params must be at least a vector");
  ASSIGN_OR_RETURN(const SliceIndex index,
                   SliceIndex::Make(ctx, params.shape(), indices, ignore_bad_indices));
  IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
  dims.insert(dims.end(), params.shape().dims().begin() + index.depth, params.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, params.dtype(), shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t bytes = index.slice * static_cast<int64_t>(DTypeSize(params.dtype()));
  const SliceCopier copy(params.dtype(), index.slice);
  const auto slices = index.slices.flat<int64_t>();
  ctx.ParallelFor(static_cast<int64_t>(slices.size()), 2 + 0.2 * static_cast<double>(bytes),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      char* to = output->mutable_raw() + i * bytes;
                      if (slices[i] < 0) {
                        ZeroElements(params.dtype(), to, index.slice);
                      } else {
                        copy(params.raw() + slices[i] * bytes, to);
                      }
                    }
                  });
  return absl::OkStatus();
}

class GatherNdKernel : public OpKernel {
 public:
  explicit GatherNdKernel(const KernelBuild& build)
      : ignore_bad_indices_(IgnoresBadIndices(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).dtype() != DType::kResource || ctx.output_type(0) == DType::kResource) {
      return GatherNd(ctx, ctx.input(0), ctx.input(1), ignore_bad_indices_);
    }
    ASSIGN_OR_RETURN(const Tensor params, ReadVariable(ctx, 0));
    return GatherNd(ctx, params, ctx.input(1), ignore_bad_indices_);
  }

 private:
  const bool ignore_bad_indices_;
};
REGISTER_KERNEL("GatherNd", kCpu, GatherNdKernel);
REGISTER_KERNEL("ResourceGatherNd", kCpu, GatherNdKernel).HostMemory("resource");

}  // namespace
}  // namespace tessera
