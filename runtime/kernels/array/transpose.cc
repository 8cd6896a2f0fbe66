// Transpose, ConjugateTranspose, InvertPermutation.
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/elementwise.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless `perm` holds each of [0, rank) once (negative axes allowed).
absl::StatusOr<IndexVector> ReadPermutation(const Tensor& tensor, int rank) {
  ASSIGN_OR_RETURN(IndexVector perm, ReadIndexVector(tensor, "perm"));
  if (tensor.rank() != 1 || static_cast<int>(perm.size()) != rank) {
    return absl::InvalidArgumentError(absl::StrCat("perm must be a vector of ", rank,
                                                   " axes, has shape ", tensor.shape().ToString()));
  }
  absl::InlinedVector<bool, 8> seen(rank, false);
  for (int64_t& axis : perm) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank, "axis of perm"));
    if (seen[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("perm names axis ", axis, " twice"));
    }
    seen[axis] = true;
  }
  return perm;
}

// Dimension i of the output is dimension perm[i] of the input. Shares the memory where only
// dimensions of size 1 move.
class TransposeKernel : public OpKernel {
 public:
  explicit TransposeKernel(const KernelBuild& build) : copy_(build) {
    const DType dtype = build.input_types()[0];
    if (build.op().name == "ConjugateTranspose" && IsComplex(dtype)) {
      conjugate_ = Primitive<Elementwise>(build)(build, {"Conj", dtype});
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector perm, ReadPermutation(ctx.input(1), input.rank()));
    const auto strides = RowMajorStrides(input.shape().dims());
    IndexVector dims, from_strides;
    int64_t last_moved = -1;  // the highest input axis with more than one element so far
    bool in_order = true;
    for (int64_t axis : perm) {
      dims.push_back(input.dim(axis));
      from_strides.push_back(strides[axis]);
      if (input.dim(axis) == 1) continue;
      in_order = in_order && axis > last_moved;
      last_moved = axis;
    }
    const Shape shape((absl::Span<const int64_t>(dims)));
    if (in_order && conjugate_ == nullptr) {
      ASSIGN_OR_RETURN(Tensor output, ctx.TakeInput(0).Reshaped(shape));
      ctx.set_output(0, std::move(output));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(copy_(ctx, dims, input, {from_strides}, output, {RowMajorStrides(dims)}));
    if (conjugate_ == nullptr || output->num_elements() == 0) return absl::OkStatus();
    LoopBlock row;
    row.columns = output->num_elements();
    row.data[0] = row.data[1] = output->address();
    row.column_stride[0] = row.column_stride[1] = static_cast<int64_t>(DTypeSize(output->dtype()));
    return conjugate_->RunRow(ctx, row);
  }

 private:
  const Primitive<StridedCopy> copy_;
  std::unique_ptr<Elementwise> conjugate_;  // null if there is nothing to conjugate
};
REGISTER_KERNEL("Transpose", DevicesOf<StridedCopy>, TransposeKernel).HostMemory("perm");
REGISTER_KERNEL("ConjugateTranspose", (DevicesOf<StridedCopy, Elementwise>), TransposeKernel)
    .HostMemory("perm");

// y[x[i]] = i. Errors: INVALID_ARGUMENT unless x holds each of [0, n) once.
class InvertPermutationKernel : public OpKernel {
 public:
  explicit InvertPermutationKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "invert_permutation expects a vector, not shape ", input.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    return VisitIndexType(input.dtype(), [&]<typename T>() -> absl::Status {
      const auto x = input.flat<T>();
      auto y = output->flat<T>();
      std::fill(y.begin(), y.end(), static_cast<T>(-1));
      for (size_t i = 0; i < x.size(); ++i) {
        const int64_t target = static_cast<int64_t>(x[i]);
        if (target < 0 || target >= static_cast<int64_t>(x.size())) {
          return absl::InvalidArgumentError(
              absl::StrCat("x[", i, "] = ", target, " is not in [0, ", x.size(), ")"));
        }
        if (y[target] != static_cast<T>(-1)) {
          return absl::InvalidArgumentError(absl::StrCat(target, " is duplicated in x"));
        }
        y[target] = static_cast<T>(i);
      }
      return absl::OkStatus();
    });
  }
};
// Permutations of dimensions are the host's on every device.
REGISTER_KERNEL("InvertPermutation", kAnyDevice, InvertPermutationKernel)
    .HostMemory("x")
    .HostMemory("y");

}  // namespace
}  // namespace tessera
