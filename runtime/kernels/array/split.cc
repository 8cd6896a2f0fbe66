// Taking tensors apart: Split, SplitV, Unpack.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// Cuts `input` along `axis` into pieces of `sizes`; output i gets shapes[i]. Pieces of the first
// dimension share the input's memory where they stay aligned.
absl::Status SetPieces(KernelContext& ctx, const Primitive<StridedCopy>& copy, const Tensor& input,
                       int axis, absl::Span<const int64_t> sizes, bool drop_axis) {
  const int64_t outer = DimProduct(input.shape(), 0, axis);
  // Dimensions of nothing may have a product that overflows.
  const int64_t inner =
      input.num_elements() == 0 ? 0 : DimProduct(input.shape(), axis + 1, input.rank());
  const int64_t row = input.dim(axis) * inner;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = input.shape();
    if (drop_axis) {
      shape.RemoveDim(axis);
    } else {
      shape.SetDim(axis, sizes[i]);
    }
    const int64_t part = sizes[i] * inner;
    bool shared = false;
    if (outer == 1) {
      ASSIGN_OR_RETURN(Tensor whole, input.Reshaped(Shape{row}));
      Tensor piece = whole.Slice(begin * inner, (begin + sizes[i]) * inner);
      if (piece.IsAligned() || !IsTriviallyCopyable(piece.dtype())) {
        ASSIGN_OR_RETURN(piece, piece.Reshaped(shape));
        ctx.set_output(static_cast<int>(i), std::move(piece));
        shared = true;
      }
    }
    if (!shared) {
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(static_cast<int>(i), shape));
      RETURN_IF_ERROR(
          copy(ctx, {outer, part}, input, {{row, 1}, begin * inner}, output, {{part, 1}}));
    }
    begin += sizes[i];
  }
  return absl::OkStatus();
}

// Equal pieces.
class SplitKernel : public OpKernel {
 public:
  explicit SplitKernel(const KernelBuild& build)
      : copy_(build), pieces_(build.attr<int64_t>("num_split")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(1);
    if (!ctx.input(0).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("split_dim must be a scalar, has shape ", ctx.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(0), input.rank(), "split_dim"));
    if (pieces_ <= 0 || input.dim(axis) % pieces_ != 0) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of size ",
                                                     input.dim(axis), " cannot be split into ",
                                                     pieces_, " equal pieces"));
    }
    return SetPieces(ctx, copy_, input, axis,
                     std::vector<int64_t>(pieces_, input.dim(axis) / pieces_), false);
  }

 private:
  const Primitive<StridedCopy> copy_;
  const int64_t pieces_;
};
REGISTER_KERNEL("Split", DevicesOf<StridedCopy>, SplitKernel).HostMemory("split_dim");

// Pieces of given sizes, one of which may be -1: what is left.
class SplitVKernel : public OpKernel {
 public:
  explicit SplitVKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(IndexVector sizes, ReadIndexVector(ctx.input(1), "size_splits"));
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(2), input.rank(), "split_dim"));
    if (static_cast<int>(sizes.size()) != ctx.num_outputs() || ctx.input(1).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("size_splits must be a vector of num_split = ", ctx.num_outputs(),
                       " sizes, has shape ", ctx.input(1).shape().ToString()));
    }
    int open = -1;
    int64_t sum = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == -1 && open < 0) {
        open = static_cast<int>(i);
      } else if (sizes[i] < 0 || sizes[i] > input.dim(axis)) {
        return absl::InvalidArgumentError(absl::StrCat("size_splits[", i, "] = ", sizes[i],
                                                       " does not fit in [0, ", input.dim(axis),
                                                       "] (one size may be -1)"));
      } else if (__builtin_add_overflow(sum, sizes[i], &sum)) {
        return absl::InvalidArgumentError("size_splits add up to more than fits in 64 bits");
      }
    }
    if (open >= 0 ? sum > input.dim(axis) : sum != input.dim(axis)) {
      return absl::InvalidArgumentError(absl::StrCat("size_splits add up to ", sum, ", dimension ",
                                                     axis, " has ", input.dim(axis)));
    }
    if (open >= 0) sizes[open] = input.dim(axis) - sum;
    return SetPieces(ctx, copy_, input, axis, sizes, false);
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("SplitV", DevicesOf<StridedCopy>, SplitVKernel)
    .HostMemory("size_splits")
    .HostMemory("split_dim");

// The slices of a dimension, without it.
class UnpackKernel : public OpKernel {
 public:
  explicit UnpackKernel(const KernelBuild& build)
      : copy_(build), axis_(build.attr<int64_t>("axis")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, input.rank(), "axis"));
    if (input.dim(axis) != ctx.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " has size ",
                                                     input.dim(axis), ", attribute num is ",
                                                     ctx.num_outputs()));
    }
    return SetPieces(ctx, copy_, input, axis, std::vector<int64_t>(ctx.num_outputs(), 1), true);
  }

 private:
  const Primitive<StridedCopy> copy_;
  const int64_t axis_;
};
REGISTER_KERNEL("Unpack", DevicesOf<StridedCopy>, UnpackKernel);

}  // namespace
}  // namespace tessera
