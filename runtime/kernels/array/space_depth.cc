// Blocks of pixels as channels and back: SpaceToDepth, DepthToSpace.
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// The input under shape `split`, with its dimensions in the order of `perm`, as output of the shape
// `sizes`. A size of -1 is too large.
absl::Status SetPermuted(KernelContext& ctx, const Primitive<StridedCopy>& copy,
                         const IndexVector& split, const IndexVector& perm,
                         const IndexVector& sizes) {
  const Tensor& input = ctx.input(0);
  if (absl::c_linear_search(sizes, -1)) {
    return absl::InvalidArgumentError(absl::StrCat("the blocks of an input of shape ",
                                                   input.shape().ToString(), " are too large"));
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
  const auto strides = RowMajorStrides(split);
  IndexVector dims, from_strides;
  for (int64_t axis : perm) {
    dims.push_back(split[axis]);
    from_strides.push_back(strides[axis]);
  }
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
  return copy(ctx, dims, input, {from_strides}, output, {RowMajorStrides(dims)});
}

class SpaceDepthKernel : public OpKernel {
 public:
  explicit SpaceDepthKernel(const KernelBuild& build)
      : copy_(build),
        to_depth_(build.op().name == "SpaceToDepth"),
        block_(build.attr<int64_t>("block_size")),
        format_(build.attr<std::string>("data_format")) {
    if (block_ < 2 || block_ > std::numeric_limits<int32_t>::max()) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("block_size must be at least 2 and fit in 32 bits, is ", block_)));
    }
    if (format_ != "NHWC" && format_ != "NCHW") {
      build.Fail(absl::UnimplementedError(
          absl::StrCat("data_format must be NHWC or NCHW on the CPU, is ", format_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Shape& in = ctx.input(0).shape();
    if (in.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must have rank 4, has shape ", in.ToString()));
    }
    const bool nhwc = format_ == "NHWC";
    const int64_t n = in.dim(0), h = in.dim(nhwc ? 1 : 2), w = in.dim(nhwc ? 2 : 3),
                  c = in.dim(nhwc ? 3 : 1), b = block_;
    if (to_depth_ ? h % b != 0 || w % b != 0 : c % (b * b) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          to_depth_ ? "height and width" : "the depth", " of shape ", in.ToString(),
          " must be divisible by ", to_depth_ ? "" : "the square of ", "block_size ", b));
    }
    if (to_depth_) {
      const int64_t depth = MultiplyWithoutOverflow(b * b, c);
      if (nhwc) {
        return SetPermuted(ctx, copy_, {n, h / b, b, w / b, b, c}, {0, 1, 3, 2, 4, 5},
                           {n, h / b, w / b, depth});
      }
      return SetPermuted(ctx, copy_, {n, c, h / b, b, w / b, b}, {0, 3, 5, 1, 2, 4},
                         {n, depth, h / b, w / b});
    }
    const int64_t d = c / (b * b);
    const int64_t height = MultiplyWithoutOverflow(h, b), width = MultiplyWithoutOverflow(w, b);
    if (nhwc) {
      return SetPermuted(ctx, copy_, {n, h, w, b, b, d}, {0, 1, 3, 2, 4, 5}, {n, height, width, d});
    }
    return SetPermuted(ctx, copy_, {n, b, b, d, h, w}, {0, 3, 4, 1, 5, 2}, {n, d, height, width});
  }

 private:
  const Primitive<StridedCopy> copy_;
  const bool to_depth_;
  const int64_t block_;
  const std::string format_;
};
REGISTER_KERNEL("SpaceToDepth", DevicesOf<StridedCopy>, SpaceDepthKernel);
REGISTER_KERNEL("DepthToSpace", DevicesOf<StridedCopy>, SpaceDepthKernel);

}  // namespace
}  // namespace tessera
