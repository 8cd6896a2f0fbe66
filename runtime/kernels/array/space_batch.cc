// Blocks of space as batch and back: SpaceToBatch(ND), BatchToSpace(ND).
#include <algorithm>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// Block sizes, and the padding (or cropping) before and after, of the spatial dimensions 1, 2, ...
struct Blocks {
  IndexVector sizes, before, after;
  int64_t count = 1;  // product of the sizes

  int dims() const { return static_cast<int>(sizes.size()); }
  bool HasMargins() const {
    const auto is_margin = [](int64_t margin) { return margin > 0; };
    return std::any_of(before.begin(), before.end(), is_margin) ||
           std::any_of(after.begin(), after.end(), is_margin);
  }
};

// Errors: INVALID_ARGUMENT for non-positive sizes, negative margins, or too few dimensions.
absl::StatusOr<Blocks> ReadBlocks(IndexVector sizes, const Tensor& margins, int rank) {
  Blocks blocks;
  blocks.sizes = std::move(sizes);
  if (rank < blocks.dims() + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input must have rank ", blocks.dims() + 1, " or more, has ", rank));
  }
  if (margins.rank() != 2 || margins.dim(0) != blocks.dims() || margins.dim(1) != 2) {
    return absl::InvalidArgumentError(absl::StrCat("paddings or crops must have shape [",
                                                   blocks.dims(), ",2], have ",
                                                   margins.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const Tensor flat, margins.Reshaped(Shape{2 * blocks.dims()}));
  ASSIGN_OR_RETURN(const IndexVector values, ReadIndexVector(flat, "paddings"));
  for (int d = 0; d < blocks.dims(); ++d) {
    if (blocks.sizes[d] < 1 || values[2 * d] < 0 || values[2 * d + 1] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "block sizes must be positive and paddings or crops non-negative, those of "
          "dimension ",
          d, " are ", blocks.sizes[d], ", ", values[2 * d], " and ", values[2 * d + 1]));
    }
    blocks.before.push_back(values[2 * d]);
    blocks.after.push_back(values[2 * d + 1]);
    blocks.count = MultiplyWithoutOverflow(blocks.count, blocks.sizes[d]);
    if (blocks.count < 0) return absl::InvalidArgumentError("block sizes overflow");
  }
  return blocks;
}

// CopyBlocks() without margins. One copy walks through the space in order: the copies of single
// blocks would each read, or write, parts of all its lines.
absl::Status CopyWholeBlocks(KernelContext& ctx, const Primitive<StridedCopy>& copy,
                             const Blocks& blocks, bool to_batch, const Tensor& input,
                             Tensor* output) {
  const Shape& space = to_batch ? input.shape() : output->shape();
  const Shape& batch = to_batch ? output->shape() : input.shape();
  const auto space_strides = RowMajorStrides(space.dims());
  const auto batch_strides = RowMajorStrides(batch.dims());
  IndexVector dims, in_space, in_batch;
  const auto add = [&](int64_t size, int64_t space_stride, int64_t batch_stride) {
    dims.push_back(size);
    in_space.push_back(space_stride);
    in_batch.push_back(batch_stride);
  };
  add(space.dim(0), space_strides[0], batch_strides[0]);
  int64_t blocks_left = blocks.count;
  for (int d = 0; d < blocks.dims(); ++d) {
    const int64_t size = blocks.sizes[d], count = batch.dim(d + 1);
    blocks_left /= size;
    add(count, count > 1 ? space_strides[d + 1] * size : 0, batch_strides[d + 1]);
    add(size, space_strides[d + 1], blocks_left * space.dim(0) * batch_strides[0]);
  }
  for (int d = blocks.dims() + 1; d < space.rank(); ++d) {
    add(space.dim(d), space_strides[d], batch_strides[d]);
  }
  const StridedView space_view{in_space}, batch_view{in_batch};
  return copy(ctx, dims, input, to_batch ? space_view : batch_view, output,
              to_batch ? batch_view : space_view);
}

// Copies between `space`, of shape [n, s1, s2, ..., rest], and `batch`, of shape
// [blocks * n, b1, b2, ..., rest], where position p of spatial dimension d, counted with the margin
// before it, is at p / size in the batch entry of block p % size.
absl::Status CopyBlocks(KernelContext& ctx, const Primitive<StridedCopy>& copy,
                        const Blocks& blocks, bool to_batch, const Tensor& input, Tensor* output) {
  // There may be any number of blocks if they are empty.
  if (input.num_elements() == 0 || output->num_elements() == 0) return absl::OkStatus();
  if (!blocks.HasMargins()) return CopyWholeBlocks(ctx, copy, blocks, to_batch, input, output);
  const Shape& space = to_batch ? input.shape() : output->shape();
  const Shape& batch = to_batch ? output->shape() : input.shape();
  const auto space_strides = RowMajorStrides(space.dims());
  const auto batch_strides = RowMajorStrides(batch.dims());
  const int64_t n = space.dim(0);
  IndexVector offset(blocks.dims(), 0);  // of the block, in each dimension
  for (int64_t block = 0; block < blocks.count; ++block) {
    IndexVector dims(space.dims().begin(), space.dims().end());
    IndexVector strides(space_strides);
    int64_t from_space = 0, from_batch = block * n * batch_strides[0];
    for (int d = 0; d < blocks.dims(); ++d) {
      // Entries [first, last) of the batch dimension lie within the space.
      const int64_t size = blocks.sizes[d];
      const int64_t shift = blocks.before[d] - offset[d];
      const int64_t first = std::max<int64_t>(0, shift > 0 ? (shift + size - 1) / size : 0);
      const int64_t stop = shift + space.dim(d + 1);  // exclusive, in units of positions
      const int64_t last =
          std::min(batch.dim(d + 1), stop > 0 ? (stop + size - 1) / size : int64_t{0});
      dims[d + 1] = std::max<int64_t>(last - first, 0);
      strides[d + 1] = dims[d + 1] > 1 ? space_strides[d + 1] * size : 0;
      from_space += (first * size - shift) * space_strides[d + 1];
      from_batch += first * batch_strides[d + 1];
    }
    const StridedView in_space{strides, from_space}, in_batch{batch_strides, from_batch};
    RETURN_IF_ERROR(copy(ctx, dims, input, to_batch ? in_space : in_batch, output,
                         to_batch ? in_batch : in_space));
    for (int d = blocks.dims() - 1; d >= 0; --d) {
      if (++offset[d] < blocks.sizes[d]) break;
      offset[d] = 0;
    }
  }
  return absl::OkStatus();
}

// The block sizes: attribute `block_size` for two dimensions, or input 1.
class BlockKernel : public OpKernel {
 protected:
  explicit BlockKernel(const KernelBuild& build)
      : copy_(build),
        block_size_(build.has_attr("block_size") ? build.attr<int64_t>("block_size") : 0) {}

  absl::StatusOr<Blocks> Read(const KernelContext& ctx) const {
    const int rank = ctx.input(0).rank();
    if (block_size_ > 0) {
      if (rank != 4) return absl::InvalidArgumentError("the input must have rank 4");
      return ReadBlocks({block_size_, block_size_}, ctx.input(1), rank);
    }
    if (ctx.input(1).rank() != 1) {
      return absl::InvalidArgumentError("block_shape must be a vector");
    }
    ASSIGN_OR_RETURN(IndexVector sizes, ReadIndexVector(ctx.input(1), "block_shape"));
    return ReadBlocks(std::move(sizes), ctx.input(2), rank);
  }

  const Primitive<StridedCopy> copy_;

 private:
  const int64_t block_size_;
};

class SpaceToBatchKernel : public BlockKernel {
 public:
  explicit SpaceToBatchKernel(const KernelBuild& build) : BlockKernel(build), fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Blocks blocks, Read(ctx));
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims[0] = MultiplyWithoutOverflow(dims[0], blocks.count);
    bool padded = false;
    for (int d = 0; d < blocks.dims(); ++d) {
      int64_t size;
      if (__builtin_add_overflow(dims[d + 1], blocks.before[d], &size) ||
          __builtin_add_overflow(size, blocks.after[d], &size)) {
        return absl::InvalidArgumentError("paddings overflow");
      }
      if (size % blocks.sizes[d] != 0) {
        return absl::InvalidArgumentError(absl::StrCat("padded dimension ", d + 1, " of size ",
                                                       size, " is not divisible by block size ",
                                                       blocks.sizes[d]));
      }
      padded = padded || size != dims[d + 1];
      dims[d + 1] = size / blocks.sizes[d];
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (padded) RETURN_IF_ERROR(fill_(ctx, nullptr, output));
    return CopyBlocks(ctx, copy_, blocks, true, input, output);
  }

 private:
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("SpaceToBatch", (DevicesOf<StridedCopy, Fill>), SpaceToBatchKernel)
    .HostMemory("paddings");
REGISTER_KERNEL("SpaceToBatchND", (DevicesOf<StridedCopy, Fill>), SpaceToBatchKernel)
    .HostMemory("block_shape")
    .HostMemory("paddings");

class BatchToSpaceKernel : public BlockKernel {
 public:
  explicit BatchToSpaceKernel(const KernelBuild& build) : BlockKernel(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Blocks blocks, Read(ctx));
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    if (dims[0] % blocks.count != 0) {
      return absl::InvalidArgumentError(absl::StrCat("the batch of ", dims[0],
                                                     " is not divisible by the ", blocks.count,
                                                     " positions of a block"));
    }
    dims[0] /= blocks.count;
    for (int d = 0; d < blocks.dims(); ++d) {
      const int64_t size = MultiplyWithoutOverflow(dims[d + 1], blocks.sizes[d]);
      if (size < 0 || blocks.before[d] > size || blocks.after[d] > size - blocks.before[d]) {
        return absl::InvalidArgumentError(absl::StrCat("crops ", blocks.before[d], " and ",
                                                       blocks.after[d], " of dimension ", d + 1,
                                                       " exceed its size ", size));
      }
      dims[d + 1] = size - blocks.before[d] - blocks.after[d];
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return CopyBlocks(ctx, copy_, blocks, false, input, output);
  }
};
REGISTER_KERNEL("BatchToSpace", DevicesOf<StridedCopy>, BatchToSpaceKernel).HostMemory("crops");
REGISTER_KERNEL("BatchToSpaceND", DevicesOf<StridedCopy>, BatchToSpaceKernel)
    .HostMemory("block_shape")
    .HostMemory("crops");

}  // namespace
}  // namespace tessera
