// Tensors with some rows, or a box, replaced: Inplace*, XlaDynamicUpdateSlice, XlaDynamicSlice.
// They work in the input's memory when nobody else holds it.
#include "absl/strings/str_join.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/array/scatter_op.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/strided_copy.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// y = x with y[i[k]] = v[k], or += or -= v[k]. Indices wrap around.
class InplaceKernel : public OpKernel {
 public:
  explicit InplaceKernel(const KernelBuild& build)
      : op_(ScatterOpFromName(build.op().name)), scatter_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    Tensor x = ctx.TakeInput(0);
    const Tensor& rows = ctx.input(1);
    const Tensor& v = ctx.input(2);
    bool fits = rows.rank() == 1 && x.rank() >= 1 && x.rank() == v.rank() &&
                v.dim(0) == rows.num_elements();
    for (int d = 1; fits && d < x.rank(); ++d) fits = x.dim(d) == v.dim(d);
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "v of shape ", v.shape().ToString(), " must hold a row of x, of shape ",
          x.shape().ToString(), ", for each element of i, of shape ", rows.shape().ToString()));
    }
    if (x.dim(0) == 0 && rows.num_elements() > 0) {
      return absl::InvalidArgumentError("x has no rows to update");
    }
    RETURN_IF_ERROR(MakeWritable(ctx, &x));
    RETURN_IF_ERROR(scatter_(ctx, op_,
                             {.size = x.dim(0), .slice = DimProduct(x.shape(), 1, x.rank())}, rows,
                             BadIndices::kWrap, v, &x));
    ctx.set_output(0, std::move(x));
    return absl::OkStatus();
  }

 private:
  const ScatterOp op_;
  const Primitive<Scatter> scatter_;
};
REGISTER_KERNEL("InplaceUpdate", DevicesOf<Scatter>, InplaceKernel);
REGISTER_KERNEL("InplaceAdd", DevicesOf<Scatter>, InplaceKernel);
REGISTER_KERNEL("InplaceSub", DevicesOf<Scatter>, InplaceKernel);

// Where a box of `size` begins in `shape`: moved, if need be, so that it lies within.
// Errors: INVALID_ARGUMENT if it is larger than the shape, or there is not one start a dimension.
absl::StatusOr<int64_t> BoxOffset(const Shape& shape, absl::Span<const int64_t> size,
                                  const Tensor& starts) {
  ASSIGN_OR_RETURN(const IndexVector begin, ReadIndexVector(starts, "start indices"));
  const int rank = shape.rank();
  bool fits = starts.rank() == 1 && static_cast<int>(begin.size()) == rank &&
              static_cast<int>(size.size()) == rank;
  for (int d = 0; fits && d < rank; ++d) fits = size[d] >= 0 && size[d] <= shape.dim(d);
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("a box of shape [", absl::StrJoin(size, ","), "] with starts of shape ",
                     starts.shape().ToString(), " does not lie within shape ", shape.ToString()));
  }
  const auto strides = RowMajorStrides(shape.dims());
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    offset += std::clamp<int64_t>(begin[d], 0, shape.dim(d) - size[d]) * strides[d];
  }
  return offset;
}

// The input with a box replaced by `update`.
class DynamicUpdateSliceKernel : public OpKernel {
 public:
  explicit DynamicUpdateSliceKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& update = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t offset,
                     BoxOffset(ctx.input(0).shape(), update.shape().dims(), ctx.input(2)));
    Tensor output = ctx.TakeInput(0);
    RETURN_IF_ERROR(MakeWritable(ctx, &output));
    RETURN_IF_ERROR(copy_(ctx, update.shape().dims(), update,
                          {RowMajorStrides(update.shape().dims())}, &output,
                          {RowMajorStrides(output.shape().dims()), offset}));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("XlaDynamicUpdateSlice", DevicesOf<StridedCopy>, DynamicUpdateSliceKernel)
    .HostMemory("indices");

class DynamicSliceKernel : public OpKernel {
 public:
  explicit DynamicSliceKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(ctx.input(2), "size_indices"));
    ASSIGN_OR_RETURN(const int64_t offset, BoxOffset(input.shape(), size, ctx.input(1)));
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(0, Shape(absl::Span<const int64_t>(size))));
    return copy_(ctx, size, input, {RowMajorStrides(input.shape().dims()), offset}, output,
                 {RowMajorStrides(size)});
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("XlaDynamicSlice", DevicesOf<StridedCopy>, DynamicSliceKernel)
    .HostMemory("start_indices")
    .HostMemory("size_indices");

}  // namespace
}  // namespace tessera
