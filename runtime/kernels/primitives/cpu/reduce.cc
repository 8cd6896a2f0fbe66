#include "runtime/kernels/primitives/reduce.h"

#include "runtime/kernels/primitives/cpu/reduction_table.h"

namespace tessera {
namespace {

class CpuReduce final : public Reduce {
 public:
  CpuReduce(ReduceKind kind, DType dtype)
      : dtype_(dtype), loops_(FindReductionLoops(kind, dtype)) {}

  absl::Status Run(KernelContext& ctx, const Tensor& x, absl::Span<const bool> reduced,
                   Tensor* y) const override {
    RunReduction(ReductionPlan(x.shape(), reduced), loops_, dtype_, x.raw(), y->mutable_raw(),
                 ctx.pool());
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
  const ReductionLoops loops_;
};

REGISTER_PRIMITIVE(Reduce, kCpu, [](ReduceKind kind, DType dtype) -> std::unique_ptr<Reduce> {
  return std::make_unique<CpuReduce>(kind, dtype);
});

}  // namespace
}  // namespace tessera
