#include "runtime/kernels/primitives/reduce.h"

#include "runtime/kernels/primitives/cpu/reduction_table.h"
#include "runtime/kernels/primitives/cpu/stepwise_reduction.h"

namespace tessera {
namespace {

constexpr int64_t kGreatestHalf = 65504;

class CpuReduce final : public Reduce {
 public:
  CpuReduce(ReduceKind kind, DType dtype)
      : kind_(kind),
        dtype_(dtype),
        loops_(FindReductionLoops(kind, dtype)),
        stepwise_(FindStepwiseReduction(kind, dtype)) {}

  absl::Status Run(KernelContext& ctx, const Tensor& x, absl::Span<const bool> reduced,
                   Tensor* y) const override {
    const ReductionPlan plan(x.shape(), reduced);
    if (stepwise_ != nullptr && !IsUncountable(plan.num_reduced())) {
      stepwise_(plan, x.raw(), y->mutable_raw(), ctx.pool());
    } else {
      RunReduction(plan, loops_, dtype_, x.raw(), y->mutable_raw(), ctx.pool());
    }
    return absl::OkStatus();
  }

 private:
  // Returns true if the dtype of a mean cannot hold the number of elements. TensorFlow returns
  // infinity or NaN in this case.
  bool IsUncountable(int64_t count) const {
    return kind_ == ReduceKind::kMean && count > kGreatestHalf;
  }

  const ReduceKind kind_;
  const DType dtype_;
  const ReductionLoops loops_;
  const StepwiseReduction stepwise_;
};

REGISTER_PRIMITIVE(Reduce, kCpu, [](ReduceKind kind, DType dtype) -> std::unique_ptr<Reduce> {
  return std::make_unique<CpuReduce>(kind, dtype);
});

}  // namespace
}  // namespace tessera
