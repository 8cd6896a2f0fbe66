// Kernels that turn elements around: Reverse, ReverseV2, ReverseSequence, Roll.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// Which dimensions to reverse comes as a bool each (Reverse) or as a list of axes (ReverseV2).
class ReverseKernel : public OpKernel {
 public:
  explicit ReverseKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    // TensorFlow does not look at the axes then, but at the flags of Reverse, unless for a scalar.
    const bool has_flags = ctx.input(1).dtype() == DType::kBool;
    if (input.shape().IsScalar() || (input.num_elements() == 0 && !has_flags)) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const auto reversed, ReadReversed(ctx.input(1), input.rank()));
    const auto strides = RowMajorStrides(input.shape().dims());
    IndexVector from_strides(strides);
    int64_t offset = 0;
    bool any = false;
    for (int d = 0; d < input.rank(); ++d) {
      if (!reversed[d] || input.dim(d) <= 1) continue;
      any = true;
      offset += (input.dim(d) - 1) * strides[d];
      from_strides[d] = -strides[d];
    }
    if (!any) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    return copy_(ctx, input.shape().dims(), input, {from_strides, offset}, output, {strides});
  }

 private:
  static absl::StatusOr<absl::InlinedVector<bool, 8>> ReadReversed(const Tensor& dims, int rank) {
    absl::InlinedVector<bool, 8> reversed(rank, false);
    if (dims.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("dims must be a vector, has shape ", dims.shape().ToString()));
    }
    if (dims.dtype() == DType::kBool) {
      if (dims.num_elements() != rank) {
        return absl::InvalidArgumentError(absl::StrCat(
            "dims has ", dims.num_elements(), " elements, the tensor ", rank, " dimensions"));
      }
      std::copy_n(dims.data<bool>(), rank, reversed.begin());
      return reversed;
    }
    ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(dims, "axis"));
    for (int64_t named : axes) {
      ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named, rank, "axis"));
      if (reversed[axis]) {
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is named twice"));
      }
      reversed[axis] = true;
    }
    return reversed;
  }

  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("Reverse", DevicesOf<StridedCopy>, ReverseKernel).HostMemory("dims");
REGISTER_KERNEL("ReverseV2", DevicesOf<StridedCopy>, ReverseKernel).HostMemory("axis");

// Reverses, in slice b of batch_dim, the first seq_lengths[b] elements of seq_dim.
class ReverseSequenceKernel : public OpKernel {
 public:
  explicit ReverseSequenceKernel(const KernelBuild& build)
      : copy_(build),
        batch_dim_(build.attr<int64_t>("batch_dim")),
        seq_dim_(build.attr<int64_t>("seq_dim")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.rank();
    if (batch_dim_ == seq_dim_ || batch_dim_ < 0 || batch_dim_ >= rank || seq_dim_ < 0 ||
        seq_dim_ >= rank) {
      return absl::InvalidArgumentError(absl::StrCat("batch_dim ", batch_dim_, " and seq_dim ",
                                                     seq_dim_, " must be two dimensions of shape ",
                                                     input.shape().ToString()));
    }
    const int batch = static_cast<int>(batch_dim_), seq = static_cast<int>(seq_dim_);
    ASSIGN_OR_RETURN(const IndexVector lengths, ReadIndexVector(ctx.input(1), "seq_lengths"));
    if (ctx.input(1).rank() != 1 || static_cast<int64_t>(lengths.size()) != input.dim(batch)) {
      return absl::InvalidArgumentError(absl::StrCat("seq_lengths must be a vector of ",
                                                     input.dim(batch), " lengths, has shape ",
                                                     ctx.input(1).shape().ToString()));
    }
    for (size_t b = 0; b < lengths.size(); ++b) {
      if (lengths[b] < 0 || lengths[b] > input.dim(seq)) {
        return absl::InvalidArgumentError(absl::StrCat("seq_lengths[", b, "] = ", lengths[b],
                                                       " is not in [0, ", input.dim(seq), "]"));
      }
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    const auto strides = RowMajorStrides(input.shape().dims());
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims[batch] = 1;
    IndexVector backward(strides);
    backward[seq] = -strides[seq];
    for (size_t b = 0; b < lengths.size(); ++b) {
      const int64_t slice = static_cast<int64_t>(b) * strides[batch];
      const int64_t length = lengths[b];
      const int64_t last = slice + (length - 1) * strides[seq];
      dims[seq] = length;
      RETURN_IF_ERROR(copy_(ctx, dims, input, {backward, last}, output, {strides, slice}));
      const int64_t rest = slice + length * strides[seq];
      dims[seq] = input.dim(seq) - length;
      RETURN_IF_ERROR(copy_(ctx, dims, input, {strides, rest}, output, {strides, rest}));
    }
    return absl::OkStatus();
  }

 private:
  const Primitive<StridedCopy> copy_;
  const int64_t batch_dim_, seq_dim_;
};
REGISTER_KERNEL("ReverseSequence", DevicesOf<StridedCopy>, ReverseSequenceKernel)
    .HostMemory("seq_lengths");

// Shifts elements along axes; what leaves at one end comes back at the other.
class RollKernel : public OpKernel {
 public:
  explicit RollKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() < 1) return absl::InvalidArgumentError("input must have rank 1 or higher");
    ASSIGN_OR_RETURN(const IndexVector shifts, ReadIndexVector(ctx.input(1), "shift"));
    ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(ctx.input(2), "axis"));
    if (ctx.input(1).shape() != ctx.input(2).shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shift has the shape ", ctx.input(1).shape().ToString(), ", axis ",
                       ctx.input(2).shape().ToString(), ": they must be the same"));
    }
    IndexVector by(input.rank(), 0);  // how far each dimension moves, in [0, size)
    for (size_t i = 0; i < axes.size(); ++i) {
      ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axes[i], input.rank(), "axis"));
      // Dimensions of nothing may be too large for these sums.
      const int64_t size = input.num_elements() == 0 ? 1 : input.dim(axis);
      by[axis] = ((by[axis] + shifts[i] % size) % size + size) % size;
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    if (input.num_elements() == 0) return absl::OkStatus();
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    return CopyRolled(ctx, by, 0, &dims, 0, 0, output);
  }

 private:
  // Every moved dimension falls into two runs; recurses over the choices from dimension `d` on.
  absl::Status CopyRolled(KernelContext& ctx, const IndexVector& by, int d, IndexVector* dims,
                          int64_t from, int64_t to, Tensor* output) const {
    const Tensor& input = ctx.input(0);
    const auto strides = RowMajorStrides(input.shape().dims());
    while (d < input.rank() && by[d] == 0) ++d;
    if (d == input.rank()) {
      return copy_(ctx, *dims, input, {strides, from}, output, {strides, to});
    }
    const int64_t head = input.dim(d) - by[d];  // these go to the end, the rest to the front
    (*dims)[d] = head;
    RETURN_IF_ERROR(CopyRolled(ctx, by, d + 1, dims, from, to + by[d] * strides[d], output));
    (*dims)[d] = by[d];
    RETURN_IF_ERROR(CopyRolled(ctx, by, d + 1, dims, from + head * strides[d], to, output));
    (*dims)[d] = input.dim(d);
    return absl::OkStatus();
  }

  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("Roll", DevicesOf<StridedCopy>, RollKernel).HostMemory("shift").HostMemory("axis");

}  // namespace
}  // namespace tessera
