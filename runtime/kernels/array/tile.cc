// Repeating tensors: Tile, BroadcastTo.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// The input `multiples[d]` times along each dimension d.
class TileKernel : public OpKernel {
 public:
  explicit TileKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector multiples, ReadIndexVector(ctx.input(1), "multiples"));
    if (ctx.input(1).rank() != 1 || static_cast<int>(multiples.size()) != input.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("multiples must be a vector of ", input.rank(),
                                                     " numbers, has shape ",
                                                     ctx.input(1).shape().ToString()));
    }
    IndexVector sizes;
    // Dimension d of the output is two loops: over the copies, and over the input's dimension.
    IndexVector dims, from_strides;
    const auto strides = RowMajorStrides(input.shape().dims());
    for (int d = 0; d < input.rank(); ++d) {
      if (multiples[d] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("multiples[", d, "] must be non-negative, is ", multiples[d]));
      }
      sizes.push_back(MultiplyWithoutOverflow(input.dim(d), multiples[d]));
      dims.push_back(multiples[d]);
      from_strides.push_back(0);
      dims.push_back(input.dim(d));
      from_strides.push_back(strides[d]);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
    if (shape == input.shape()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return copy_(ctx, dims, input, {from_strides}, output, {RowMajorStrides(dims)});
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("Tile", DevicesOf<StridedCopy>, TileKernel).HostMemory("multiples");

// The input under a shape it broadcasts to.
class BroadcastToKernel : public OpKernel {
 public:
  explicit BroadcastToKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (!ctx.input(1).shape().IsVector()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape must be a vector of {int32,int64}, got shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(1), "shape"));
    if (shape == input.shape()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    const int surplus = shape.rank() - input.rank();
    bool fits = surplus >= 0;
    const auto strides = RowMajorStrides(input.shape().dims());
    IndexVector from_strides(shape.rank(), 0);
    for (int d = 0; fits && d < input.rank(); ++d) {
      fits = input.dim(d) == 1 || input.dim(d) == shape.dim(surplus + d);
      if (input.dim(d) != 1) from_strides[surplus + d] = strides[d];
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", input.shape().ToString(),
                                                     " cannot be broadcast to ", shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return copy_(ctx, shape.dims(), input, {from_strides}, output, {RowMajorStrides(shape.dims())});
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("BroadcastTo", DevicesOf<StridedCopy>, BroadcastToKernel).HostMemory("shape");

}  // namespace
}  // namespace tessera
