// Parts of tensors: Slice, StridedSlice and its gradient, and writing into a part of a tensor.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/strided_copy.h"
#include "runtime/kernels/variable_update.h"
#include "runtime/ops/strided_slice_spec.h"

namespace tessera {
namespace {

// Sets the output to the elements of the input from `offset` on under `shape`, sharing the memory.
// Returns false if there are none, or if they would not be aligned, so that a copy must be made.
bool SetSharedElements(KernelContext& ctx, const Tensor& input, int64_t offset,
                       const Shape& shape) {
  if (shape.num_elements() == 0) return false;
  const absl::StatusOr<Tensor> all = input.Reshaped({input.num_elements()});
  if (!all.ok()) return false;
  const Tensor elements = all->Slice(offset, offset + shape.num_elements());
  if (!elements.IsAligned() && IsTriviallyCopyable(input.dtype())) return false;
  absl::StatusOr<Tensor> output = elements.Reshaped(shape);
  if (!output.ok()) return false;
  ctx.set_output(0, *std::move(output));
  return true;
}

// A box: from `begin`, `size` elements of each dimension, -1 for all that follow.
class SliceKernel : public OpKernel {
 public:
  explicit SliceKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector begin, ReadIndexVector(ctx.input(1), "begin"));
    ASSIGN_OR_RETURN(IndexVector size, ReadIndexVector(ctx.input(2), "size"));
    const int rank = input.rank();
    if (ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1 ||
        static_cast<int>(begin.size()) != rank || static_cast<int>(size.size()) != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("begin and size must be vectors of ", rank, " elements, have shapes ",
                       ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString()));
    }
    bool all = true;                                   // nothing is cut off
    bool is_contiguous = true, takes_several = false;  // see StridedSliceSpec::IsContiguous()
    int64_t offset = 0;
    const auto strides = RowMajorStrides(input.shape().dims());
    for (int d = 0; d < rank; ++d) {
      const int64_t dim = input.dim(d);
      if (begin[d] < 0 || begin[d] > dim) {
        return absl::InvalidArgumentError(
            absl::StrCat("begin[", d, "] = ", begin[d], " is not in [0, ", dim, "]"));
      }
      if (size[d] == -1) size[d] = dim - begin[d];
      if (size[d] < 0 || size[d] > dim - begin[d]) {
        return absl::InvalidArgumentError(absl::StrCat("size[", d, "] = ", size[d],
                                                       " is not in [0, ", dim - begin[d],
                                                       "], counted from begin[", d, "]"));
      }
      // Products with the strides of a tensor without elements may overflow.
      if (input.num_elements() > 0) offset += begin[d] * strides[d];
      all = all && size[d] == dim;
      is_contiguous = is_contiguous && (!takes_several || size[d] == dim);
      takes_several = takes_several || size[d] != 1;
    }
    if (all) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    const Shape shape((absl::Span<const int64_t>(size)));
    if (is_contiguous && SetSharedElements(ctx, input, offset, shape)) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return copy_(ctx, size, input, {strides, offset}, output, {RowMajorStrides(size)});
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("Slice", DevicesOf<StridedCopy>, SliceKernel)
    .HostMemory("begin")
    .HostMemory("size");

// A slice of a tensor whose shape is known, and so is the slice's.
struct Slice : StridedSliceSpec {
  Shape full_shape;
};

// Base of the kernels whose inputs 1 to 3 are begin, end and strides.
class SlicingKernel : public OpKernel {
 protected:
  explicit SlicingKernel(const KernelBuild& build) : copy_(build) {
    absl::StatusOr<StridedSliceMasks> masks = StridedSliceMasks::FromAttrs(build.attrs());
    if (masks.ok()) {
      masks_ = *masks;
    } else {
      build.Fail(masks.status());
    }
  }

  absl::StatusOr<Slice> Resolve(const KernelContext& ctx, const Shape& sliced) const {
    IndexVector operands[3];
    constexpr absl::string_view kNames[] = {"begin", "end", "strides"};
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(operands[i], ReadIndexVector(ctx.input(i + 1), kNames[i]));
      if (ctx.input(i + 1).rank() != 1) {
        return absl::InvalidArgumentError(absl::StrCat(kNames[i], " must be a vector"));
      }
    }
    Slice slice;
    ASSIGN_OR_RETURN(static_cast<StridedSliceSpec&>(slice),
                     StridedSliceSpec::Make(PartialShape(sliced), operands[0], operands[1],
                                            operands[2], masks_));
    ASSIGN_OR_RETURN(slice.full_shape, slice.shape.AsShape());
    return slice;
  }

  // Writes `value`, broadcast to the slice, into the elements of `target` that the slice takes.
  // Errors: INVALID_ARGUMENT if the value does not broadcast to the slice.
  absl::Status WriteSlice(KernelContext& ctx, const Slice& slice, const Tensor& value,
                          Tensor* target) const;

  const Primitive<StridedCopy> copy_;

 private:
  StridedSliceMasks masks_;
};

class StridedSliceKernel : public SlicingKernel {
 public:
  explicit StridedSliceKernel(const KernelBuild& build) : SlicingKernel(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const Slice slice, Resolve(ctx, input.shape()));
    if (input.rank() == 0) {
      ASSIGN_OR_RETURN(Tensor output, ctx.TakeInput(0).Reshaped(slice.full_shape));
      ctx.set_output(0, std::move(output));
      return absl::OkStatus();
    }
    if (slice.IsContiguous(input.shape()) &&
        SetSharedElements(ctx, input, slice.Offset(input.shape()), slice.full_shape)) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, slice.full_shape));
    return copy_(ctx, slice.sizes, input,
                 {slice.ElementStrides(input.shape()), slice.Offset(input.shape())}, output,
                 {RowMajorStrides(slice.sizes)});
  }
};
REGISTER_KERNEL("StridedSlice", DevicesOf<StridedCopy>, StridedSliceKernel)
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides");

absl::Status SlicingKernel::WriteSlice(KernelContext& ctx, const Slice& slice, const Tensor& value,
                                       Tensor* target) const {
  // As in TensorFlow any value fits where nothing is written.
  if (slice.full_shape.num_elements() == 0) return absl::OkStatus();
  // Dimensions of the slice's shape, aligned with the value's from the right. The value may have
  // more, of one element each, in front.
  const int surplus = slice.full_shape.rank() - value.rank();
  bool fits = true;
  IndexVector value_strides(slice.full_shape.rank(), 0);
  const auto row_major = RowMajorStrides(value.shape().dims());
  for (int d = 0; fits && d < value.rank(); ++d) {
    if (value.dim(d) == 1) continue;
    fits = surplus + d >= 0 && value.dim(d) == slice.full_shape.dim(surplus + d);
    if (fits) value_strides[surplus + d] = row_major[d];
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("a value of shape ", value.shape().ToString(),
                                                   " does not fit into the slice of shape ",
                                                   slice.full_shape.ToString()));
  }
  // Shrunk dimensions are missing in the slice's shape and new ones are added: both have one
  // element, so the remaining sizes pair up in order.
  IndexVector dims, from, to;
  const IndexVector target_strides = slice.ElementStrides(target->shape());
  for (int d = 0; d < target->rank(); ++d) {
    if (slice.sizes[d] != 1) to.push_back(target_strides[d]);
  }
  for (int d = 0; d < slice.full_shape.rank(); ++d) {
    if (slice.full_shape.dim(d) == 1) continue;
    dims.push_back(slice.full_shape.dim(d));
    from.push_back(value_strides[d]);
  }
  return copy_(ctx, dims, value, {from}, target, {to, slice.Offset(target->shape())});
}

// Zeros of a given shape, with the gradient where the slice was taken.
class StridedSliceGradKernel : public SlicingKernel {
 public:
  explicit StridedSliceGradKernel(const KernelBuild& build) : SlicingKernel(build), fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(const Slice slice, Resolve(ctx, shape));
    const Tensor& gradient = ctx.input(4);
    if (!(gradient.shape() == slice.full_shape)) {
      return absl::InvalidArgumentError(absl::StrCat("dy has shape ", gradient.shape().ToString(),
                                                     ", the slice has ",
                                                     slice.full_shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(fill_(ctx, nullptr, output));
    return WriteSlice(ctx, slice, gradient, output);
  }

 private:
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("StridedSliceGrad", (DevicesOf<StridedCopy, Fill>), StridedSliceGradKernel)
    .HostMemory("shape")
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides");

// The input with a slice replaced; in place if nobody else holds the input.
class TensorStridedSliceUpdateKernel : public SlicingKernel {
 public:
  explicit TensorStridedSliceUpdateKernel(const KernelBuild& build) : SlicingKernel(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Slice slice, Resolve(ctx, ctx.input(0).shape()));
    Tensor output = ctx.TakeInput(0);
    RETURN_IF_ERROR(MakeWritable(ctx, &output));
    RETURN_IF_ERROR(WriteSlice(ctx, slice, ctx.input(4), &output));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorStridedSliceUpdate", DevicesOf<StridedCopy>, TensorStridedSliceUpdateKernel)
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides");

// A variable with a slice replaced: by reference (v1) or by handle.
class AssignStridedSliceKernel : public SlicingKernel {
 public:
  explicit AssignStridedSliceKernel(const KernelBuild& build) : SlicingKernel(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
    RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& value) -> absl::Status {
      RETURN_IF_ERROR(CheckVariableType(value, ctx.input(4).dtype()));
      ASSIGN_OR_RETURN(const Slice slice, Resolve(ctx, value.shape()));
      return WriteSlice(ctx, slice, ctx.input(4), &value);
    }));
    if (ctx.num_outputs() > 0) ctx.set_ref_output(0, variable);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StridedSliceAssign", DevicesOf<StridedCopy>, AssignStridedSliceKernel)
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides");
REGISTER_KERNEL("ResourceStridedSliceAssign", DevicesOf<StridedCopy>, AssignStridedSliceKernel)
    .HostMemory("ref")
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides");

}  // namespace
}  // namespace tessera
