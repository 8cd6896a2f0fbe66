// Max and average pooling over two or three spatial dimensions.
#include "runtime/kernels/primitives/pooling.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/pool_window.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Runs MaxPool, which takes a rule, or AveragePool.
template <typename Pool, typename... Rule>
absl::Status RunPool(KernelContext& ctx, const Primitive<Pool>& pool, const PoolWindow& window,
                     Rule... rule) {
  ASSIGN_OR_RETURN(const PoolShape shape, window.Geometry(ctx.input(0).shape()));
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, window.OutputShape(shape)));
  return pool(ctx, shape, rule..., ctx.input(0), output);
}

template <typename Pool, int kSpatialRank>
class PoolKernel : public OpKernel {
 public:
  explicit PoolKernel(const KernelBuild& build)
      : window_(PoolWindow::FromAttrs(
            build, kSpatialRank,
            kSpatialRank == 2 ? ChannelWindow::kRefusedLate : ChannelWindow::kRefused)),
        pool_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    if constexpr (std::is_same_v<Pool, MaxPool>) {
      return RunPool(ctx, pool_, window_, MaxPoolRule::kIgnoreNan);
    } else {
      return RunPool(ctx, pool_, window_);
    }
  }

 private:
  const PoolWindow window_;
  const Primitive<Pool> pool_;
};
using MaxPool3D = PoolKernel<MaxPool, 3>;
using AvgPool2D = PoolKernel<AveragePool, 2>;
using AvgPool3D = PoolKernel<AveragePool, 3>;
REGISTER_KERNEL("MaxPool3D", DevicesOf<MaxPool>, MaxPool3D);
REGISTER_KERNEL("AvgPool", DevicesOf<AveragePool>, AvgPool2D);
REGISTER_KERNEL("AvgPool3D", DevicesOf<AveragePool>, AvgPool3D);

// Max pooling of images. The window may also reach over channels: see CheckChannelWindow(). Strides
// over points do not count then. The attribute `_propagates_nan` marks the pools of XLA
// (runtime/stablehlo/translate_reductions.cc), whose windows do not reach over channels. With
// `_pads_zeros` the padding counts as zeros where there is nothing else
// (runtime/optimize/fold_pad).
class MaxPool2D {
 public:
  explicit MaxPool2D(const KernelBuild& build)
      : rule_(build.has_attr("_propagates_nan") ? MaxPoolRule::kPropagateNan
                                                : MaxPoolRule::kIgnoreNan),
        pads_zeros_(build.has_attr("_pads_zeros")),
        fill_(build),
        pool_(build),
        channel_pool_(build) {}

  absl::Status Run(KernelContext& ctx, const PoolWindow& window) const {
    const Tensor& input = ctx.input(0);
    if (pads_zeros_ && input.num_elements() == 0) {
      ASSIGN_OR_RETURN(const PoolShape shape, window.Geometry(input.shape()));
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, window.OutputShape(shape)));
      return fill_(ctx, nullptr, output);
    }
    if (!window.reaches_over_channels()) return RunPool(ctx, pool_, window, rule_);
    RETURN_IF_ERROR(CheckChannelWindow(window, input.shape()));
    Shape shape = input.shape();
    shape.SetDim(3, shape.dim(3) / window.ksize[3]);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return channel_pool_(ctx, window.ksize[3], input, output);
  }

 private:
  const MaxPoolRule rule_;
  const bool pads_zeros_;
  const Primitive<Fill> fill_;
  const Primitive<MaxPool> pool_;
  const Primitive<ChannelMaxPool> channel_pool_;
};
constexpr auto kMaxPoolDevices = DevicesOf<MaxPool, ChannelMaxPool, Fill>;

class MaxPoolKernel : public OpKernel {
 public:
  explicit MaxPoolKernel(const KernelBuild& build)
      : window_(PoolWindow::FromAttrs(build, 2, ChannelWindow::kAllowed)), pool_(build) {}
  absl::Status Compute(KernelContext& ctx) override { return pool_.Run(ctx, window_); }

 private:
  const PoolWindow window_;
  const MaxPool2D pool_;
};
REGISTER_KERNEL("MaxPool", kMaxPoolDevices, MaxPoolKernel);

// Max pooling whose window and strides are inputs.
class MaxPoolV2Kernel : public OpKernel {
 public:
  explicit MaxPoolV2Kernel(const KernelBuild& build)
      : op_(build.op()), attrs_(build.attrs()), pool_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(
        const PoolWindow window,
        PoolWindow::FromInputs(op_, attrs_, ctx.input(1), ctx.input(2), ChannelWindow::kAllowed));
    return pool_.Run(ctx, window);
  }

 private:
  const OpDef& op_;
  const AttrMap attrs_;
  const MaxPool2D pool_;
};
REGISTER_KERNEL("MaxPoolV2", kMaxPoolDevices, MaxPoolV2Kernel)
    .HostMemory("ksize")
    .HostMemory("strides");

// Max pooling that also says where each maximum was, as an index into the flattened input, of the
// whole batch or of one image. A window that reaches over channels is checked as that of MaxPool,
// and then each channel is pooled on its own: TensorFlow's kernel knows no other loop.
class MaxPoolWithArgmaxKernel : public OpKernel {
 public:
  explicit MaxPoolWithArgmaxKernel(const KernelBuild& build)
      : window_(PoolWindow::FromAttrs(build, 2, ChannelWindow::kRefusedLate)),
        scope_(build.attr<bool>("include_batch_in_index") ? ArgmaxScope::kBatch
                                                          : ArgmaxScope::kImage),
        pool_(build) {
    if (build.status().ok() && !window_.reaches_over_channels()) {
      build.Fail(window_.attrs.CheckStrides());
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (window_.reaches_over_channels()) {
      RETURN_IF_ERROR(CheckChannelWindow(window_, input.shape()));
    }
    ASSIGN_OR_RETURN(const PoolShape shape, window_.OverPoints().Geometry(input.shape()));
    if (input.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must not be empty, has shape ", input.shape().ToString()));
    }
    const Shape out_shape{shape.batch, shape.output[1], shape.output[2], shape.channels};
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, out_shape));
    ASSIGN_OR_RETURN(Tensor* const argmax, ctx.AllocateOutput(1, out_shape));
    return pool_(ctx, shape, scope_, input, output, argmax);
  }

 private:
  const PoolWindow window_;
  const ArgmaxScope scope_;
  const Primitive<MaxPoolWithArgmax> pool_;
};
REGISTER_KERNEL("MaxPoolWithArgmax", DevicesOf<MaxPoolWithArgmax>, MaxPoolWithArgmaxKernel);

}  // namespace
}  // namespace tessera
