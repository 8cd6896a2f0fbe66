// Reductions over any axes: Sum, Mean, Prod, Max, Min, All, Any, EuclideanNorm.
#include "runtime/kernels/math/reduction.h"

#include "runtime/base/logging.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/reducers.h"
#include "runtime/kernels/primitives/cpu/typed_reduction.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

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

class ReductionKernel : public OpKernel {
 public:
  explicit ReductionKernel(const KernelBuild& build)
      : dtype_(build.output_types()[0]),
        loops_(FindReductionLoops(build.op().name, dtype_)),
        keep_dims_(build.attr<bool>("keep_dims")) {}

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
    const ReductionPlan plan(x.shape(), reduced);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    RunReduction(plan, loops_, dtype_, x.raw(), y->mutable_raw(), ctx.pool());
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
  const ReductionLoops loops_;
  const bool keep_dims_;
};

#define REGISTER_REDUCTION(op, dtypes)        \
  REGISTER_KERNEL(op, kCpu, ReductionKernel)  \
      .TypeConstraint("T", DTypeList(dtypes)) \
      .HostMemory("reduction_indices")

REGISTER_REDUCTION("Sum", kNumeric);
REGISTER_REDUCTION("Mean", kNumeric);
REGISTER_REDUCTION("Prod", kNumeric);
REGISTER_REDUCTION("EuclideanNorm", kNumeric);
REGISTER_REDUCTION("Max", kReal);
REGISTER_REDUCTION("Min", kReal);
REGISTER_KERNEL("All", kCpu, ReductionKernel).HostMemory("reduction_indices");
REGISTER_KERNEL("Any", kCpu, ReductionKernel).HostMemory("reduction_indices");

template <typename R, DTypeSet kTypes>
ReductionLoops LoopsOf(DType dtype) {
  ReductionLoops loops{};
  ForEachType<kTypes & ~kNarrowFloat>([&]<typename T>(TypeTag<T>) {
    if (DTypeOf<T> == dtype) loops = MakeReductionLoops<R, T>();
  });
  CHECK(loops.init != nullptr) << "no reduction of " << DTypeName(dtype);
  return loops;
}

}  // namespace

ReductionLoops FindReductionLoops(absl::string_view op, DType dtype) {
  if (IsNarrowFloat(dtype)) dtype = DType::kFloat;
  if (op == "Sum") return LoopsOf<reduce::Sum, kNumeric>(dtype);
  if (op == "Mean") return LoopsOf<reduce::Mean, kNumeric>(dtype);
  if (op == "Prod") return LoopsOf<reduce::Prod, kNumeric>(dtype);
  if (op == "EuclideanNorm") return LoopsOf<reduce::EuclideanNorm, kNumeric>(dtype);
  if (op == "Max") return LoopsOf<reduce::Max, kReal>(dtype);
  if (op == "Min") return LoopsOf<reduce::Min, kReal>(dtype);
  if (op == "All") return LoopsOf<reduce::All, kBool>(dtype);
  CHECK(op == "Any") << "no reduction " << op;
  return LoopsOf<reduce::Any, kBool>(dtype);
}

}  // namespace tessera
