// Reductions over any axes: Sum, Mean, Prod, Max, Min, All, Any, EuclideanNorm.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cast.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {
namespace {

constexpr DTypeSet kNarrowIntegers = kInteger & ~DTypes(DType::kInt64, DType::kUint64);

// Tells for each dimension of `shape` whether `axes`, of any rank, names it.
// Errors: INVALID_ARGUMENT for an axis out of range or named twice.
absl::StatusOr<absl::InlinedVector<bool, 6>> ReducedAxes(const Shape& shape, const Tensor& axes) {
  absl::InlinedVector<bool, 6> reduced(shape.rank(), false);
  ASSIGN_OR_RETURN(const Tensor flat, axes.Reshaped(Shape{axes.num_elements()}));
  ASSIGN_OR_RETURN(const IndexVector indices, ReadIndexVector(flat, "reduction_indices"));
  for (const int64_t index : indices) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(index, shape.rank(), "reduction_indices"));
    if (reduced[axis]) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis, " is named twice in 'reduction_indices'"));
    }
    reduced[axis] = true;
  }
  return reduced;
}

ReduceKind KindOf(absl::string_view op) {
  if (op == "Sum") return ReduceKind::kSum;
  if (op == "Mean") return ReduceKind::kMean;
  if (op == "Prod") return ReduceKind::kProd;
  if (op == "EuclideanNorm") return ReduceKind::kEuclideanNorm;
  if (op == "Max") return ReduceKind::kMax;
  if (op == "Min") return ReduceKind::kMin;
  return op == "All" ? ReduceKind::kAll : ReduceKind::kAny;
}

class ReductionKernel : public OpKernel {
 public:
  explicit ReductionKernel(const KernelBuild& build)
      : ReductionKernel(build, build.output_types()[0]) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const auto reduced, ReducedAxes(x.shape(), ctx.input(1)));
    Shape shape;
    for (int d = 0; d < x.rank(); ++d) {
      if (!reduced[d]) {
        shape.AddDim(x.dim(d));
      } else if (keep_dims_) {
        shape.AddDim(1);
      }
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    return Reduced(ctx, x, reduced, y);
  }

 protected:
  // Computes in `dtype`.
  ReductionKernel(const KernelBuild& build, DType dtype)
      : reduce_(Primitive<Reduce>(build)(KindOf(build.op().name), dtype)),
        keep_dims_(build.attr<bool>("keep_dims")) {}

  virtual absl::Status Reduced(KernelContext& ctx, const Tensor& x, absl::Span<const bool> reduced,
                               Tensor* y) const {
    return reduce_->Run(ctx, x, reduced, y);
  }

 private:
  const std::unique_ptr<Reduce> reduce_;
  const bool keep_dims_;
};

// The mean of integers whose sum need not fit into their own type.
class NarrowMeanKernel final : public ReductionKernel {
 public:
  explicit NarrowMeanKernel(const KernelBuild& build)
      : ReductionKernel(build, DType::kInt64), cast_(build) {}

 protected:
  absl::Status Reduced(KernelContext& ctx, const Tensor& x, absl::Span<const bool> reduced,
                       Tensor* y) const override {
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt64, x.shape()));
    ASSIGN_OR_RETURN(Tensor mean, ctx.AllocateTemp(DType::kInt64, y->shape()));
    RETURN_IF_ERROR(cast_(ctx, x, /*cleared_bits=*/0, &wide));
    RETURN_IF_ERROR(ReductionKernel::Reduced(ctx, wide, reduced, &mean));
    return cast_(ctx, mean, /*cleared_bits=*/0, y);
  }

 private:
  const Primitive<Cast> cast_;
};

#define REGISTER_REDUCTION(op, dtypes)                    \
  REGISTER_KERNEL(op, DevicesOf<Reduce>, ReductionKernel) \
      .TypeConstraint("T", DTypeList(dtypes))             \
      .HostMemory("reduction_indices")

REGISTER_REDUCTION("Sum", kNumeric);
REGISTER_REDUCTION("Mean", kNumeric & ~kNarrowIntegers);
REGISTER_KERNEL("Mean", (DevicesOf<Reduce, Cast>), NarrowMeanKernel)
    .TypeConstraint("T", DTypeList(kNarrowIntegers))
    .HostMemory("reduction_indices");
REGISTER_REDUCTION("Prod", kNumeric);
REGISTER_REDUCTION("EuclideanNorm", kNumeric);
REGISTER_REDUCTION("Max", kReal);
REGISTER_REDUCTION("Min", kReal);
REGISTER_KERNEL("All", DevicesOf<Reduce>, ReductionKernel).HostMemory("reduction_indices");
REGISTER_KERNEL("Any", DevicesOf<Reduce>, ReductionKernel).HostMemory("reduction_indices");

}  // namespace
}  // namespace tessera
