// Barriers: making, filling, emptying and closing them.
#include <algorithm>
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/tensor_barrier.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Components of unknown rank are scalars, as in TensorFlow.
std::vector<PartialShape> ShapesOfComponents(const KernelBuild& build) {
  auto shapes = build.attr<std::vector<PartialShape>>("shapes");
  for (PartialShape& shape : shapes) {
    if (!shape.known_rank()) shape = PartialShape(Shape());
  }
  return shapes;
}

class MakeBarrierKernel : public ResourceHandleKernel {
 public:
  explicit MakeBarrierKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, TensorBarrier::kTypeName),
        options_{name(), build.attr<std::vector<DType>>("component_types"),
                 ShapesOfComponents(build)} {
    const bool known =
        std::all_of(options_.shapes.begin(), options_.shapes.end(),
                    [](const PartialShape& shape) { return shape.IsFullyDefined(); });
    if (!known || options_.shapes.size() != options_.dtypes.size()) {
      build.Fail(absl::InvalidArgumentError("each component must have a fully known shape"));
    }
    if (build.attr<int64_t>("capacity") != -1) {
      build.Fail(absl::InvalidArgumentError("the capacity must be -1: barriers are unlimited"));
    }
  }

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override {
    TensorBarrier::Options options = options_;
    options.allocator = ctx.host_allocator();
    return IntrusivePtr<Resource>(MakeRefCounted<TensorBarrier>(std::move(options)));
  }
  absl::Status CheckFits(const Resource& resource) const override {
    const auto* const other = dynamic_cast<const TensorBarrier*>(&resource);
    if (other != nullptr && other->options().dtypes == options_.dtypes &&
        other->options().shapes == options_.shapes) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the ", resource.DebugString(), " has other components"));
  }

 private:
  const TensorBarrier::Options options_;
};
REGISTER_KERNEL("Barrier", kCpu, MakeBarrierKernel);

class BarrierInsertManyKernel : public OpKernel {
 public:
  explicit BarrierInsertManyKernel(const KernelBuild& build)
      : component_(build.attr<int64_t>("component_index")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto barrier, ResourceInput<TensorBarrier>(ctx, 0));
    return barrier->Insert(component_, ctx.input(1), ctx.input(2));
  }

 private:
  const int64_t component_;
};
REGISTER_KERNEL("BarrierInsertMany", kCpu, BarrierInsertManyKernel);

// wait_for_incomplete has no effect, as in TensorFlow.
class BarrierTakeManyKernel : public AsyncOpKernel {
 public:
  explicit BarrierTakeManyKernel(const KernelBuild& build)
      : allow_small_batch_(build.attr<bool>("allow_small_batch")),
        dtypes_(build.attr<std::vector<DType>>("component_types")) {
    if (build.attr<int64_t>("timeout_ms") != -1) {
      build.Fail(absl::InvalidArgumentError("timeout_ms must be -1: barriers have no timeouts"));
    }
  }
  bool IsExpensive() const override { return false; }
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    if (absl::Status status = Start(ctx, done); !status.ok()) done(std::move(status));
  }

 private:
  // Calls `done` unless it fails.
  absl::Status Start(KernelContext& ctx, const DoneCallback& done) const {
    ASSIGN_OR_RETURN(const auto barrier, ResourceInput<TensorBarrier>(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t count, ReadIntegerOfScalar(ctx.input(1), "num_elements"));
    if (count < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_elements must not be negative, is ", count));
    }
    if (barrier->options().dtypes != dtypes_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the components of the ", barrier->DebugString(), " are not component_types"));
    }
    auto batch = std::make_shared<TensorBarrier::Batch>();
    barrier->Take(count, allow_small_batch_, ctx.step().cancellation, batch.get(),
                  [&ctx, batch, barrier, done](absl::Status status) {
                    if (status.ok()) {
                      ctx.set_output(0, std::move(batch->indices));
                      ctx.set_output(1, std::move(batch->keys));
                      for (size_t c = 0; c < batch->values.size(); ++c) {
                        ctx.set_output(static_cast<int>(c) + 2, std::move(batch->values[c]));
                      }
                    }
                    done(std::move(status));
                  });
    return absl::OkStatus();
  }

  const bool allow_small_batch_;
  const std::vector<DType> dtypes_;
};
REGISTER_KERNEL("BarrierTakeMany", kCpu, BarrierTakeManyKernel);

class BarrierCloseKernel : public OpKernel {
 public:
  explicit BarrierCloseKernel(const KernelBuild& build)
      : cancel_pending_(build.attr<bool>("cancel_pending_enqueues")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto barrier, ResourceInput<TensorBarrier>(ctx, 0));
    return barrier->Close(cancel_pending_);
  }

 private:
  const bool cancel_pending_;
};
REGISTER_KERNEL("BarrierClose", kCpu, BarrierCloseKernel);

template <int32_t (TensorBarrier::*kCount)() const>
class BarrierSizeKernel : public OpKernel {
 public:
  explicit BarrierSizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto barrier, ResourceInput<TensorBarrier>(ctx, 0));
    return SetScalarOutput(ctx, 0, (*barrier.*kCount)());
  }
};
REGISTER_KERNEL("BarrierReadySize", kCpu, BarrierSizeKernel<&TensorBarrier::NumReady>);
REGISTER_KERNEL("BarrierIncompleteSize", kCpu, BarrierSizeKernel<&TensorBarrier::NumIncomplete>);

}  // namespace
}  // namespace tessera
