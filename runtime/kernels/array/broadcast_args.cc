// Arithmetic of broadcasting on shapes: BroadcastArgs, BroadcastGradientArgs, UnravelIndex. Shapes
// are the host's on every device, so that a step with a gradient of broadcasting stays on one.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

absl::StatusOr<IndexVector> ReadDims(const KernelContext& ctx, int i) {
  if (ctx.input(i).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " must be a shape vector, has shape ", ctx.input(i).shape().ToString()));
  }
  return ReadIndexVector(ctx.input(i), "shape");
}

absl::Status SetVector(KernelContext& ctx, int i, const IndexVector& values) {
  ASSIGN_OR_RETURN(Tensor* const output,
                   ctx.AllocateOutput(i, Shape{static_cast<int64_t>(values.size())}));
  if (output->dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), output->data<int64_t>());
  } else {
    std::copy(values.begin(), values.end(), output->data<int32_t>());
  }
  return absl::OkStatus();
}

absl::Status CannotBroadcast(const KernelContext& ctx) {
  return absl::InvalidArgumentError(absl::StrCat("shapes ", ctx.input(0).ToString(), " and ",
                                                 ctx.input(1).ToString(),
                                                 " do not broadcast together"));
}

// The dimension of `shape` that stands `from_end` places before its end; 1 if there is none.
int64_t DimFromEnd(const IndexVector& shape, size_t from_end) {
  return from_end < shape.size() ? shape[shape.size() - 1 - from_end] : 1;
}

// The shape that two shapes broadcast to.
class BroadcastArgsKernel : public OpKernel {
 public:
  explicit BroadcastArgsKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IndexVector a, ReadDims(ctx, 0));
    ASSIGN_OR_RETURN(const IndexVector b, ReadDims(ctx, 1));
    const size_t rank = std::max(a.size(), b.size());
    IndexVector result(rank);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t x = DimFromEnd(a, i), y = DimFromEnd(b, i);
      if (x != y && x != 1 && y != 1) return CannotBroadcast(ctx);
      result[rank - 1 - i] = x == 1 ? y : x;
    }
    return SetVector(ctx, 0, result);
  }
};
REGISTER_KERNEL("BroadcastArgs", kAnyDevice, BroadcastArgsKernel)
    .HostMemory("s0")
    .HostMemory("s1")
    .HostMemory("r0");

// The axes over which each operand's gradient is summed: those along which it was repeated. An axis
// of size 1 in both counts for both, unless the shapes are equal.
class BroadcastGradientArgsKernel : public OpKernel {
 public:
  explicit BroadcastGradientArgsKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const IndexVector a, ReadDims(ctx, 0));
    ASSIGN_OR_RETURN(const IndexVector b, ReadDims(ctx, 1));
    IndexVector sum_a, sum_b;
    if (a != b) {
      const size_t rank = std::max(a.size(), b.size());
      for (size_t d = 0; d < rank; ++d) {
        const int64_t x = DimFromEnd(a, rank - 1 - d), y = DimFromEnd(b, rank - 1 - d);
        if (x != y && x != 1 && y != 1) return CannotBroadcast(ctx);
        if (x == 1) sum_a.push_back(static_cast<int64_t>(d));
        if (y == 1) sum_b.push_back(static_cast<int64_t>(d));
      }
    }
    RETURN_IF_ERROR(SetVector(ctx, 0, sum_a));
    return SetVector(ctx, 1, sum_b);
  }
};
REGISTER_KERNEL("BroadcastGradientArgs", kAnyDevice, BroadcastGradientArgsKernel)
    .HostMemory("s0")
    .HostMemory("s1")
    .HostMemory("r0")
    .HostMemory("r1");

// Coordinates of flat indices into a tensor of shape `dims`: [rank, indices...]. As in TensorFlow,
// those of a negative index are the remainders of divisions that round towards 0.
class UnravelIndexKernel : public OpKernel {
 public:
  explicit UnravelIndexKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector dims, ReadDims(ctx, 1));
    if (indices.rank() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices must be a scalar or a vector, have shape ", indices.shape().ToString()));
    }
    if (indices.num_elements() == 0) {
      return absl::InvalidArgumentError("indices must not be empty");
    }
    int64_t total = 1;
    for (int64_t dim : dims) {
      if (dim <= 0) {
        return absl::InvalidArgumentError(absl::StrCat("dims must be positive, hold ", dim));
      }
      total = MultiplyWithoutOverflow(total, dim);
      if (total < 0) return absl::InvalidArgumentError("the product of dims overflows");
    }
    const int64_t rank = static_cast<int64_t>(dims.size()), count = indices.num_elements();
    Shape shape{rank};
    if (indices.rank() == 1) shape.AddDim(count);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return VisitIndexType(indices.dtype(), [&]<typename T>() -> absl::Status {
      const auto in = indices.flat<T>();
      T* const out = output->data<T>();
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = static_cast<int64_t>(in[i]);
        if (rest >= total) {
          return absl::InvalidArgumentError(
              absl::StrCat("index ", rest, " is out of range of a tensor of ", total));
        }
        for (int64_t d = rank - 1; d >= 0; --d) {
          out[d * count + i] = static_cast<T>(rest % dims[d]);
          rest /= dims[d];
        }
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("UnravelIndex", kCpu, UnravelIndexKernel);

}  // namespace
}  // namespace tessera
