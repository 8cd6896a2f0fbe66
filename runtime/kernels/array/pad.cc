// Borders around tensors: Pad, PadV2, MirrorPad and its gradient.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/run_fill.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

struct Paddings {
  IndexVector before, after;  // one entry a dimension
};

// Errors: INVALID_ARGUMENT unless `tensor` is a non-negative [rank, 2] matrix.
absl::StatusOr<Paddings> ReadPaddings(const Tensor& tensor, int rank) {
  if (tensor.rank() != 2 || tensor.dim(0) != rank || tensor.dim(1) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings must have shape [", rank, ",2], have ", tensor.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const Tensor flat, tensor.Reshaped(Shape{2 * rank}));
  ASSIGN_OR_RETURN(const IndexVector values, ReadIndexVector(flat, "paddings"));
  Paddings paddings;
  for (int d = 0; d < rank; ++d) {
    if (values[2 * d] < 0 || values[2 * d + 1] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("paddings of dimension ", d,
                                                     " must be non-negative, are ", values[2 * d],
                                                     " and ", values[2 * d + 1]));
    }
    paddings.before.push_back(values[2 * d]);
    paddings.after.push_back(values[2 * d + 1]);
  }
  return paddings;
}

// Errors: INVALID_ARGUMENT if a size overflows.
absl::StatusOr<Shape> PaddedShape(const Shape& shape, const Paddings& paddings) {
  IndexVector dims;
  for (int d = 0; d < shape.rank(); ++d) {
    int64_t size;
    if (__builtin_add_overflow(shape.dim(d), paddings.before[d], &size) ||
        __builtin_add_overflow(size, paddings.after[d], &size)) {
      return absl::InvalidArgumentError(absl::StrCat("padded dimension ", d, " is too large"));
    }
    dims.push_back(size);
  }
  return Shape::Make(dims);
}

// Sets `output`, on the host, row by row from front to back. A row is the last dimension that has
// borders, with the dimensions after it, which have none. Returns false if there are few rows or
// short ones, which this is not made for.
bool PadRows(KernelContext& ctx, const Paddings& paddings, const Tensor& value, Tensor* output) {
  constexpr int64_t kMinRows = 16, kMinBytes = 256;
  const Tensor& input = ctx.input(0);
  int last = input.rank() - 1;
  while (paddings.before[last] == 0 && paddings.after[last] == 0) --last;
  const int64_t rows = DimProduct(output->shape(), 0, last);
  if (rows < kMinRows) return false;
  const int64_t unit = DimProduct(input.shape(), last + 1, input.rank());
  const int64_t before = paddings.before[last] * unit, after = paddings.after[last] * unit;
  const int64_t inside = input.dim(last) * unit, row = before + inside + after;
  const DType dtype = input.dtype();
  const int64_t width = static_cast<int64_t>(DTypeSize(dtype));
  if (inside * width < kMinBytes) return false;
  const RunFill fill(value);
  // The row of the input that lies in a row of the output; -1 if that is all border.
  const auto source_of = [&](int64_t r) {
    int64_t source = 0, stride = 1;
    for (int d = last - 1; d >= 0; --d) {
      const int64_t at = r % output->dim(d) - paddings.before[d];
      if (at < 0 || at >= input.dim(d)) return int64_t{-1};
      source += at * stride;
      stride *= input.dim(d);
      r /= output->dim(d);
    }
    return source;
  };
  ctx.ParallelFor(rows, 0.1 * static_cast<double>(row * width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      char* const to = output->mutable_raw() + r * row * width;
      const int64_t source = source_of(r);
      if (source < 0) {
        fill(to, row);
        continue;
      }
      fill(to, before);
      CopyElements(dtype, input.raw() + source * inside * width, to + before * width, inside);
      fill(to + (before + inside) * width, after);
    }
  });
  return true;
}

// Constant borders: zeros, or input 2.
class PadKernel : public OpKernel {
 public:
  explicit PadKernel(const KernelBuild& build) : copy_(build), fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(ctx.input(1), input.rank()));
    Tensor value;
    if (ctx.num_inputs() > 2) {
      value = ctx.input(2);
      if (value.rank() != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("constant_values must be a scalar, has shape ", value.shape().ToString()));
      }
    } else {
      ASSIGN_OR_RETURN(value, ctx.AllocateZeros(input.dtype(), {}));
    }
    ASSIGN_OR_RETURN(const Shape shape, PaddedShape(input.shape(), paddings));
    if (shape == input.shape()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (input.num_elements() == 0) return fill_(ctx, &value, output);
    if (ctx.stream() == nullptr && PadRows(ctx, paddings, value, output)) return absl::OkStatus();
    return SetPadded(ctx, paddings, value, output);
  }

 private:
  // Each element is written once: the borders of the first dimension, then those of the next within
  // what these leave, and at last the input.
  absl::Status SetPadded(KernelContext& ctx, const Paddings& paddings, const Tensor& value,
                         Tensor* output) const {
    const Tensor& input = ctx.input(0);
    const auto strides = RowMajorStrides(output->shape().dims());
    const IndexVector repeat(input.rank(), 0);
    IndexVector dims(output->shape().dims().begin(), output->shape().dims().end());
    int64_t offset = 0;
    for (int d = 0; d < input.rank(); ++d) {
      const int64_t inside = offset + paddings.before[d] * strides[d];
      dims[d] = paddings.before[d];
      RETURN_IF_ERROR(copy_(ctx, dims, value, {repeat}, output, {strides, offset}));
      dims[d] = paddings.after[d];
      RETURN_IF_ERROR(
          copy_(ctx, dims, value, {repeat}, output, {strides, inside + input.dim(d) * strides[d]}));
      dims[d] = input.dim(d);
      offset = inside;
    }
    return copy_(ctx, dims, input, {RowMajorStrides(dims)}, output, {strides, offset});
  }

  const Primitive<StridedCopy> copy_;
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("Pad", (DevicesOf<StridedCopy, Fill>), PadKernel).HostMemory("paddings");
REGISTER_KERNEL("PadV2", (DevicesOf<StridedCopy, Fill>), PadKernel).HostMemory("paddings");

// How many elements at the edge are not repeated: 1 for REFLECT, 0 for SYMMETRIC.
int64_t MirrorOffset(const KernelBuild& build) {
  return build.attr<std::string>("mode") == "REFLECT" ? 1 : 0;
}

// Errors: INVALID_ARGUMENT if a border is wider than what there is to mirror.
absl::Status CheckMirrored(const Shape& inner, const Paddings& paddings, int64_t offset) {
  for (int d = 0; d < inner.rank(); ++d) {
    const int64_t most = inner.dim(d) - offset;
    if (paddings.before[d] > most || paddings.after[d] > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("paddings of dimension ", d, ", ", paddings.before[d], " and ",
                       paddings.after[d], ", must be at most ", std::max<int64_t>(most, 0),
                       " to mirror a dimension of size ", inner.dim(d)));
    }
  }
  return absl::OkStatus();
}

// The border slabs of one dimension of a padded tensor: where they lie and what they mirror.
struct MirrorSlabs {
  struct Slab {
    int64_t at, count, source;  // element at + i mirrors element source - i
  };
  Slab before, after;

  MirrorSlabs(int64_t inner, int64_t before_size, int64_t after_size, int64_t offset)
      : before{0, before_size, 2 * before_size - 1 + offset},
        after{before_size + inner, after_size, before_size + inner - 1 - offset} {}
};

class MirrorPadKernel : public OpKernel {
 public:
  explicit MirrorPadKernel(const KernelBuild& build) : copy_(build), offset_(MirrorOffset(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.rank();
    ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(ctx.input(1), rank));
    RETURN_IF_ERROR(CheckMirrored(input.shape(), paddings, offset_));
    ASSIGN_OR_RETURN(const Shape shape, PaddedShape(input.shape(), paddings));
    if (shape == input.shape()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    const auto strides = RowMajorStrides(shape.dims());
    // The region that is complete grows from the interior, one dimension after the other.
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    int64_t origin = 0;
    for (int d = 0; d < rank; ++d) origin += paddings.before[d] * strides[d];
    RETURN_IF_ERROR(copy_(ctx, dims, input, {RowMajorStrides(dims)}, output, {strides, origin}));
    for (int d = rank - 1; d >= 0; --d) {
      origin -= paddings.before[d] * strides[d];
      const MirrorSlabs slabs(input.dim(d), paddings.before[d], paddings.after[d], offset_);
      IndexVector backward(strides);
      backward[d] = -strides[d];
      for (const MirrorSlabs::Slab& slab : {slabs.before, slabs.after}) {
        dims[d] = slab.count;
        RETURN_IF_ERROR(copy_(ctx, dims, *output, {backward, origin + slab.source * strides[d]},
                              output, {strides, origin + slab.at * strides[d]}));
      }
      dims[d] = shape.dim(d);
    }
    return absl::OkStatus();
  }

 private:
  const Primitive<StridedCopy> copy_;
  const int64_t offset_;
};
REGISTER_KERNEL("MirrorPad", DevicesOf<StridedCopy>, MirrorPadKernel).HostMemory("paddings");

// Adds what lies in the borders to the elements that were mirrored there, and drops the borders.
class MirrorPadGradKernel : public OpKernel {
 public:
  explicit MirrorPadGradKernel(const KernelBuild& build)
      : copy_(build), add_(build), offset_(MirrorOffset(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(ctx.input(1), input.rank()));
    IndexVector inner;
    for (int d = 0; d < input.rank(); ++d) {
      int64_t borders;
      if (__builtin_add_overflow(paddings.before[d], paddings.after[d], &borders)) {
        return absl::InvalidArgumentError(
            absl::StrCat("paddings of dimension ", d, " are larger than any tensor"));
      }
      inner.push_back(input.dim(d) - borders);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(inner));
    RETURN_IF_ERROR(CheckMirrored(shape, paddings, offset_));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor folded, ctx.CopyOf(input));
    for (int d = 0; d < input.rank(); ++d) {
      const MirrorSlabs slabs(inner[d], paddings.before[d], paddings.after[d], offset_);
      RETURN_IF_ERROR(Fold(ctx, d, slabs.before, &folded));
      RETURN_IF_ERROR(Fold(ctx, d, slabs.after, &folded));
    }
    const auto strides = RowMajorStrides(input.shape().dims());
    int64_t origin = 0;
    for (int d = 0; d < input.rank(); ++d) origin += paddings.before[d] * strides[d];
    return copy_(ctx, inner, folded, {strides, origin}, output, {RowMajorStrides(inner)});
  }

 private:
  // Adds a border of dimension d to what it mirrors.
  absl::Status Fold(KernelContext& ctx, int d, const MirrorSlabs::Slab& slab, Tensor* all) const {
    if (slab.count == 0) return absl::OkStatus();
    const auto strides = RowMajorStrides(all->shape().dims());
    IndexVector dims(all->shape().dims().begin(), all->shape().dims().end());
    dims[d] = slab.count;
    const auto rows = RowMajorStrides(dims);
    IndexVector backward(strides.begin(), strides.end());
    backward[d] = -strides[d];
    const StridedView border{backward, (slab.at + slab.count - 1) * strides[d]};
    const StridedView mirrored{strides, (slab.source - slab.count + 1) * strides[d]};
    ASSIGN_OR_RETURN(Tensor addend, ctx.AllocateTemp(all->dtype(), Shape(dims)));
    ASSIGN_OR_RETURN(Tensor sum, ctx.AllocateTemp(all->dtype(), Shape(dims)));
    RETURN_IF_ERROR(copy_(ctx, dims, *all, border, &addend, {rows}));
    RETURN_IF_ERROR(copy_(ctx, dims, *all, mirrored, &sum, {rows}));
    RETURN_IF_ERROR(add_(ctx, sum.dtype(), sum.num_elements(), {sum.address(), addend.address()},
                         sum.address()));
    return copy_(ctx, dims, sum, {rows}, all, mirrored);
  }

  const Primitive<StridedCopy> copy_;
  const Primitive<AddN> add_;
  const int64_t offset_;
};
REGISTER_KERNEL("MirrorPadGrad", (DevicesOf<StridedCopy, AddN>), MirrorPadGradKernel)
    .TypeConstraint("T", DTypeList(kNumeric))
    .HostMemory("paddings");

}  // namespace
}  // namespace tessera
