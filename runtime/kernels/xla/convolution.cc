// XlaConv and XlaConvV2: convolutions over any dimensions.
#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/dilated_convolution.h"
#include "runtime/kernels/xla/accumulation.h"
#include "runtime/kernels/xla/element_function.h"
#include "xla/xla_data.pb.h"

namespace tessera {
namespace {

// Inputs: images, filter, strides, paddings [n, 2], dilations of both, and the number of feature
// groups.
class ConvolutionKernel final : public OpKernel {
 public:
  explicit ConvolutionKernel(const KernelBuild& build) {
    ReadDimensionNumbers<xla::ConvolutionDimensionNumbers>(build, &attrs_);
    if (build.has_attr("batch_group_count")) {
      attrs_.batch_groups = build.attr<int64_t>("batch_group_count");
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& lhs = ctx.input(0);
    const Tensor& rhs = ctx.input(1);
    const auto rank = static_cast<int64_t>(attrs_.input.spatial.size());
    ConvolutionAttrs attrs = attrs_;
    ASSIGN_OR_RETURN(attrs.strides, ReadInts(ctx.input(2), rank, "window_strides"));
    ASSIGN_OR_RETURN(const auto padding, ReadInts(ctx.input(3), 2 * rank, "padding"));
    ASSIGN_OR_RETURN(attrs.input_dilation, ReadInts(ctx.input(4), rank, "lhs_dilation"));
    ASSIGN_OR_RETURN(attrs.filter_dilation, ReadInts(ctx.input(5), rank, "rhs_dilation"));
    ASSIGN_OR_RETURN(const auto groups, ReadInts(ctx.input(6), 1, "feature_group_count"));
    attrs.feature_groups = groups[0];
    for (int64_t i = 0; i < rank; ++i) {
      attrs.pad_before.push_back(padding[2 * i]);
      attrs.pad_after.push_back(padding[2 * i + 1]);
    }
    ASSIGN_OR_RETURN(const auto convolution,
                     DilatedConvolution::Make(attrs, lhs.shape(), rhs.shape()));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, convolution.output_shape()));
    std::vector<int64_t> order(std::max(lhs.num_elements(), rhs.num_elements()));
    std::iota(order.begin(), order.end(), 0);
    const absl::Span<const int64_t> in_order(order);
    return VisitSumType(output->dtype(), [&]<typename Sum>() -> absl::Status {
      ASSIGN_OR_RETURN(const Tensor images,
                       Widened<Sum>(ctx, lhs, in_order.first(lhs.num_elements())));
      ASSIGN_OR_RETURN(const Tensor filter,
                       Widened<Sum>(ctx, rhs, in_order.first(rhs.num_elements())));
      ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DTypeOf<Sum>, output->shape()));
      const Sum* const x = images.data<Sum>();
      const Sum* const w = filter.data<Sum>();
      Sum* const y = sums.data<Sum>();
      const auto body = [&](const DilatedConvolution::Output& at) {
        Sum sum{};
        at.ForEachProduct([&](int64_t in, int64_t weight) { sum += x[in] * w[weight]; });
        y[at.position] = sum;
      };
      ctx.ParallelFor(
          output->num_elements(), 2.0 * convolution.products_per_output(),
          [&](int64_t begin, int64_t end) { convolution.ForEachOutput(begin, end, body); });
      return Narrow<Sum>(sums, output);
    });
  }

 private:
  ConvolutionAttrs attrs_;
};
REGISTER_KERNEL("XlaConv", kCpu, ConvolutionKernel);
REGISTER_KERNEL("XlaConvV2", kCpu, ConvolutionKernel);

}  // namespace
}  // namespace tessera
