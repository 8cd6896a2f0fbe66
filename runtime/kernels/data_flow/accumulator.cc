// Accumulators of gradients: making them, adding to them and taking from them.
#include <memory>
#include <utility>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/gradient_accumulator.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

template <typename Accumulator>
class MakeAccumulatorKernel : public ResourceHandleKernel {
 public:
  explicit MakeAccumulatorKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, GradientAccumulator::kTypeName),
        options_{name(), build.attr<DType>("dtype"), build.attr<PartialShape>("shape"),
                 build.attr<std::string>("reduction_type") == "MEAN"} {}

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override {
    GradientAccumulator::Options options = options_;
    options.allocator = ctx.host_allocator();
    return IntrusivePtr<Resource>(MakeRefCounted<Accumulator>(std::move(options)));
  }
  absl::Status CheckFits(const Resource& resource) const override {
    const auto* const other = dynamic_cast<const Accumulator*>(&resource);
    if (other != nullptr && other->options().dtype == options_.dtype &&
        other->options().shape == options_.shape && other->options().is_mean == options_.is_mean) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the ", resource.DebugString(), " has another dtype, shape or reduction"));
  }

 private:
  const GradientAccumulator::Options options_;
};
const std::vector<DType> kFloats = {DType::kHalf, DType::kFloat, DType::kDouble};
REGISTER_KERNEL("ConditionalAccumulator", kCpu, MakeAccumulatorKernel<DenseAccumulator>)
    .TypeConstraint("dtype", kFloats);
REGISTER_KERNEL("ResourceConditionalAccumulator", kCpu, MakeAccumulatorKernel<DenseAccumulator>)
    .TypeConstraint("dtype", kFloats);
REGISTER_KERNEL("SparseConditionalAccumulator", kCpu, MakeAccumulatorKernel<SparseAccumulator>)
    .TypeConstraint("dtype", kFloats);

class ApplyDenseKernel : public OpKernel {
 public:
  explicit ApplyDenseKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto accumulator, ResourceInput<DenseAccumulator>(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t local_step, ReadIntegerOfScalar(ctx.input(1), "local_step"));
    return accumulator->Apply(local_step, ctx.TakeInput(2));
  }
};
REGISTER_KERNEL("AccumulatorApplyGradient", kCpu, ApplyDenseKernel);
REGISTER_KERNEL("ResourceAccumulatorApplyGradient", kCpu, ApplyDenseKernel);

class ApplySparseKernel : public OpKernel {
 public:
  explicit ApplySparseKernel(const KernelBuild& build)
      : has_known_shape_(build.attr<bool>("has_known_shape")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto accumulator, ResourceInput<SparseAccumulator>(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t local_step, ReadIntegerOfScalar(ctx.input(1), "local_step"));
    return accumulator->Apply(local_step, {ctx.input(2), ctx.input(3), ctx.input(4)},
                              has_known_shape_);
  }

 private:
  const bool has_known_shape_;
};
REGISTER_KERNEL("SparseAccumulatorApplyGradient", kCpu, ApplySparseKernel);

// Base of the kernels that wait for gradients.
template <typename Accumulator>
class TakeKernel : public AsyncOpKernel {
 public:
  bool IsExpensive() const override { return false; }
  void ComputeAsync(KernelContext& ctx, DoneCallback done) final {
    const absl::StatusOr<IntrusivePtr<Accumulator>> accumulator =
        ResourceInput<Accumulator>(ctx, 0);
    const absl::StatusOr<int64_t> num_required = ReadIntegerOfScalar(ctx.input(1), "num_required");
    absl::Status status = accumulator.status();
    status.Update(num_required.status());
    if (status.ok() && (*accumulator)->options().dtype != dtype_) {
      status = absl::InvalidArgumentError(absl::StrCat("the ", (*accumulator)->DebugString(),
                                                       " does not hold ", DTypeName(dtype_)));
    }
    if (!status.ok()) {
      done(std::move(status));
      return;
    }
    // The accumulator lives until the operation has ended.
    Start(ctx, **accumulator, *num_required,
          [accumulator = *accumulator, done = std::move(done)](absl::Status status) {
            done(std::move(status));
          });
  }

 protected:
  explicit TakeKernel(const KernelBuild& build) : dtype_(build.attr<DType>("dtype")) {}
  virtual void Start(KernelContext& ctx, Accumulator& accumulator, int64_t num_required,
                     DoneCallback done) = 0;

 private:
  const DType dtype_;
};

class TakeDenseKernel : public TakeKernel<DenseAccumulator> {
 public:
  explicit TakeDenseKernel(const KernelBuild& build) : TakeKernel(build) {}

 protected:
  void Start(KernelContext& ctx, DenseAccumulator& accumulator, int64_t num_required,
             DoneCallback done) override {
    accumulator.Take(num_required, ctx.step().cancellation, &ctx.output(0), std::move(done));
  }
};
REGISTER_KERNEL("AccumulatorTakeGradient", kCpu, TakeDenseKernel);
REGISTER_KERNEL("ResourceAccumulatorTakeGradient", kCpu, TakeDenseKernel);

class TakeSparseKernel : public TakeKernel<SparseAccumulator> {
 public:
  explicit TakeSparseKernel(const KernelBuild& build) : TakeKernel(build) {}

 protected:
  void Start(KernelContext& ctx, SparseAccumulator& accumulator, int64_t num_required,
             DoneCallback done) override {
    auto result = std::make_shared<SparseGradient>();
    accumulator.Take(num_required, ctx.step().cancellation, result.get(),
                     [&ctx, result, done = std::move(done)](absl::Status status) {
                       if (status.ok()) {
                         ctx.set_output(0, std::move(result->indices));
                         ctx.set_output(1, std::move(result->values));
                         ctx.set_output(2, std::move(result->shape));
                       }
                       done(std::move(status));
                     });
  }
};
REGISTER_KERNEL("SparseAccumulatorTakeGradient", kCpu, TakeSparseKernel);

class NumAccumulatedKernel : public OpKernel {
 public:
  explicit NumAccumulatedKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto accumulator, ResourceInput<GradientAccumulator>(ctx, 0));
    return SetScalarOutput(ctx, 0, accumulator->NumAccumulated());
  }
};
REGISTER_KERNEL("AccumulatorNumAccumulated", kCpu, NumAccumulatedKernel);
REGISTER_KERNEL("ResourceAccumulatorNumAccumulated", kCpu, NumAccumulatedKernel);

class SetGlobalStepKernel : public OpKernel {
 public:
  explicit SetGlobalStepKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto accumulator, ResourceInput<GradientAccumulator>(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t step, ReadIntegerOfScalar(ctx.input(1), "new_global_step"));
    accumulator->SetGlobalStep(step);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("AccumulatorSetGlobalStep", kCpu, SetGlobalStepKernel);
REGISTER_KERNEL("ResourceAccumulatorSetGlobalStep", kCpu, SetGlobalStepKernel);

}  // namespace
}  // namespace tessera
