// Joining tensors: Concat, ConcatV2, ConcatOffset, Pack, ParallelConcat.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/copy_rows.h"
#include "runtime/kernels/primitives/strided_copy.h"
#include "runtime/kernels/primitives/wrapping.h"

namespace tessera {
namespace {

// Joins rows of some tens to thousands of bytes on the host: one loop for all inputs, of which each
// alone may be too small for several threads. It writes the output in the order of memory, which is
// faster where that leaves the second-level cache. Returns false if there are other rows.
bool JoinMediumRows(KernelContext& ctx, absl::Span<const Tensor* const> inputs, int64_t outer,
                    Tensor* output) {
  if (ctx.stream() != nullptr || !IsTriviallyCopyable(output->dtype())) return false;
  struct Part {
    const char* next;  // row
    int64_t bytes;
  };
  absl::InlinedVector<Part, 8> parts;
  for (const Tensor* const input : inputs) {
    parts.push_back({input->raw(), static_cast<int64_t>(input->size_bytes()) / outer});
    const int64_t bytes = parts.back().bytes;
    if (bytes < kMinMediumRow || bytes > kMaxMediumRow) return false;
  }
  const int64_t row_bytes = static_cast<int64_t>(output->size_bytes()) / outer;
  const double cost =
      0.15 * static_cast<double>(row_bytes) + 2.0 * static_cast<double>(inputs.size());
  ctx.ParallelFor(outer, cost, [&](int64_t begin, int64_t end) {
    auto own = parts;
    for (Part& part : own) part.next += begin * part.bytes;
    char* to = output->mutable_raw() + begin * row_bytes;
    for (int64_t row = begin; row < end; ++row) {
      for (Part& part : own) {
        CopyMediumRow(part.bytes, part.next, to);
        part.next += part.bytes;
        to += part.bytes;
      }
    }
  });
  return true;
}

// Copies `inputs`, each a [outer, its own row length] matrix, side by side into `output`.
absl::Status JoinRows(KernelContext& ctx, const Primitive<StridedCopy>& copy,
                      absl::Span<const Tensor* const> inputs, int64_t outer, Tensor* output) {
  if (output->num_elements() == 0 || JoinMediumRows(ctx, inputs, outer, output)) {
    return absl::OkStatus();
  }
  const int64_t row = output->num_elements() / outer;
  int64_t offset = 0;
  for (const Tensor* input : inputs) {
    const int64_t part = input->num_elements() / outer;
    RETURN_IF_ERROR(copy(ctx, {outer, part}, *input, {{part, 1}}, output, {{row, 1}, offset}));
    offset += part;
  }
  return absl::OkStatus();
}

// Inputs agree in all dimensions but the axis. Shares the memory of a sole non-empty input.
// Errors: INVALID_ARGUMENT naming the first input that does not fit.
class ConcatKernel : public OpKernel {
 public:
  explicit ConcatKernel(const KernelBuild& build)
      : copy_(build),
        values_(build.inputs("values")),
        axis_(build.inputs(build.op().name == "ConcatV2" ? "axis" : "concat_dim")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Shape& first = ctx.input(values_.begin).shape();
    if (first.rank() == 0) {
      return absl::InvalidArgumentError("scalars cannot be concatenated; use Pack");
    }
    // Old graphs give the axis as a vector of one element.
    if (ctx.input(axis_.begin).rank() > 1) {
      return absl::InvalidArgumentError(absl::StrCat("axis must be a scalar, has shape ",
                                                     ctx.input(axis_.begin).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(axis_.begin), first.rank(), "axis"));
    int64_t size = 0;
    int only = -1;  // the one input that is not empty; -2 if there are several
    absl::InlinedVector<const Tensor*, 8> inputs;
    for (int i = values_.begin; i < values_.end; ++i) {
      const Tensor& input = ctx.input(i);
      RETURN_IF_ERROR(CheckFits(first, input.shape(), axis, i - values_.begin));
      if (__builtin_add_overflow(size, input.dim(axis), &size)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the joined dimension ", axis, " is too large"));
      }
      if (input.num_elements() > 0) {
        only = only == -1 ? i : -2;
        inputs.push_back(&input);
      }
    }
    IndexVector dims(first.dims().begin(), first.dims().end());
    dims[axis] = size;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (only >= 0 && ctx.input(only).shape() == shape) {
      ctx.set_output(0, ctx.TakeInput(only));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return JoinRows(ctx, copy_, inputs, DimProduct(shape, 0, axis), output);
  }

 private:
  static absl::Status CheckFits(const Shape& first, const Shape& shape, int axis, int position) {
    bool fits = shape.rank() == first.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) {
      fits = d == axis || shape.dim(d) == first.dim(d);
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("all inputs must agree in all dimensions but ", axis, ": input 0 has shape ",
                     first.ToString(), ", input ", position, " has ", shape.ToString()));
  }

  const Primitive<StridedCopy> copy_;
  const ArgRange values_, axis_;
};
REGISTER_KERNEL("Concat", DevicesOf<StridedCopy>, ConcatKernel).HostMemory("concat_dim");
REGISTER_KERNEL("ConcatV2", DevicesOf<StridedCopy>, ConcatKernel).HostMemory("axis");

// Where each of some tensors begins in their concatenation, given their shapes.
class ConcatOffsetKernel : public OpKernel {
 public:
  explicit ConcatOffsetKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    if (!ctx.input(0).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("concat_dim must be a scalar, has shape ", ctx.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector first, ReadIndexVector(ctx.input(1), "shape"));
    ASSIGN_OR_RETURN(const int axis,
                     ReadAxis(ctx.input(0), static_cast<int>(first.size()), "concat_dim"));
    int64_t offset = 0;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(ctx.input(i), "shape"));
      bool fits = ctx.input(i).rank() == 1 && dims.size() == first.size();
      for (size_t d = 0; fits && d < dims.size(); ++d) {
        fits = static_cast<int>(d) == axis || dims[d] == first[d];
      }
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat(
            "shape ", i - 1, " = ", ctx.input(i).ToString(), " must agree with shape 0 = ",
            ctx.input(1).ToString(), " in all dimensions but ", axis));
      }
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i - 1, ctx.input(i).shape()));
      VisitIndexType(output->dtype(), [&]<typename Index>() {
        const auto offsets = output->flat<Index>();
        std::fill(offsets.begin(), offsets.end(), Index{0});
        offsets[axis] = static_cast<Index>(offset);
      });
      offset = WrappingAdd(offset, dims[axis]);
    }
    return absl::OkStatus();
  }
};
// Shapes are the host's on every device.
REGISTER_KERNEL("ConcatOffset", kAnyDevice, ConcatOffsetKernel)
    .HostMemory("concat_dim")
    .HostMemory("shape")
    .HostMemory("offset");

// Inputs of one shape become the slices of a new dimension.
class PackKernel : public OpKernel {
 public:
  explicit PackKernel(const KernelBuild& build)
      : copy_(build), axis_(build.attr<int64_t>("axis")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Shape& first = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, first.rank() + 1, "axis"));
    absl::InlinedVector<const Tensor*, 8> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!(ctx.input(i).shape() == first)) {
        return absl::InvalidArgumentError(
            absl::StrCat("all inputs must have one shape: input 0 has ", first.ToString(),
                         ", input ", i, " has ", ctx.input(i).shape().ToString()));
      }
      inputs.push_back(&ctx.input(i));
    }
    IndexVector dims(first.dims().begin(), first.dims().end());
    dims.insert(dims.begin() + axis, ctx.num_inputs());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (ctx.num_inputs() == 1) {
      ASSIGN_OR_RETURN(Tensor output, ctx.TakeInput(0).Reshaped(shape));
      ctx.set_output(0, std::move(output));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return JoinRows(ctx, copy_, inputs, DimProduct(shape, 0, axis), output);
  }

 private:
  const Primitive<StridedCopy> copy_;
  const int64_t axis_;
};
REGISTER_KERNEL("Pack", DevicesOf<StridedCopy>, PackKernel);

// Inputs of shape [1, ...] become the rows of one tensor. TensorFlow writes each as it arrives;
// the result is the same when they are joined at the end.
class ParallelConcatKernel : public OpKernel {
 public:
  explicit ParallelConcatKernel(const KernelBuild& build)
      : copy_(build), shape_(build.attr<PartialShape>("shape")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Shape& first = ctx.input(0).shape();
    absl::InlinedVector<const Tensor*, 8> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& shape = ctx.input(i).shape();
      if (shape.rank() == 0 || shape.dim(0) != 1 || !(shape == first)) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", i, " of shape ", shape.ToString(),
                         " must have one row and the shape of input 0, ", first.ToString()));
      }
      inputs.push_back(&ctx.input(i));
    }
    IndexVector dims(first.dims().begin(), first.dims().end());
    dims[0] = ctx.num_inputs();
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (!shape_.IsCompatibleWith(shape)) {
      return absl::InvalidArgumentError(absl::StrCat("the result has shape ", shape.ToString(),
                                                     ", attribute shape is ", shape_.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return JoinRows(ctx, copy_, inputs, 1, output);
  }

 private:
  const Primitive<StridedCopy> copy_;
  const PartialShape shape_;
};
REGISTER_KERNEL("ParallelConcat", DevicesOf<StridedCopy>, ParallelConcatKernel);

}  // namespace
}  // namespace tessera
