// BiasAdd: a vector added along the channels, and its gradient.
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/elementwise.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {
namespace {

bool IsChannelsFirst(const KernelBuild& build) {
  return build.has_attr("data_format") && build.attr<std::string>("data_format") == "NCHW";
}

int ChannelDim(const Shape& shape, bool channels_first) {
  return channels_first ? 1 : shape.rank() - 1;
}

class BiasAddKernel : public OpKernel {
 public:
  explicit BiasAddKernel(const KernelBuild& build)
      : channels_first_(IsChannelsFirst(build)),
        size_(static_cast<int64_t>(DTypeSize(build.output_types()[0]))),
        add_(Primitive<Elementwise>(build)(build, {"AddV2", build.output_types()[0]})) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    if (x.rank() < 2 || bias.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("BiasAdd needs an input of rank 2 or more and a bias vector, has shapes ",
                       x.shape().ToString(), " and ", bias.shape().ToString()));
    }
    const Shape shape = x.shape();
    const int channel_dim = ChannelDim(shape, channels_first_);
    if (bias.dim(0) != shape.dim(channel_dim)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the bias has ", bias.dim(0), " elements, the input of shape ",
                       shape.ToString(), " ", shape.dim(channel_dim), " channels"));
    }
    const char* const data = x.address();  // also where the output lies if it takes the memory
    ASSIGN_OR_RETURN(Tensor* const output, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const ByteStrides strides = RowMajorByteStrides(shape, size_);
    ByteStrides bias_strides(shape.rank(), 0);
    bias_strides[channel_dim] = size_;
    StridedOperands operands(shape.dims());
    operands.Add(output->address(), strides);
    operands.Add(data, strides);
    operands.Add(bias.address(), bias_strides);
    return add_->Run(ctx, operands);
  }

 private:
  const bool channels_first_;
  const int64_t size_;
  const std::unique_ptr<Elementwise> add_;
};
REGISTER_KERNEL("BiasAdd", DevicesOf<Elementwise>, BiasAddKernel)
    .TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("BiasAddV1", DevicesOf<Elementwise>, BiasAddKernel)
    .TypeConstraint("T", DTypeList(kNumeric));

// Sums over everything but the channels.
class BiasAddGradKernel : public OpKernel {
 public:
  explicit BiasAddGradKernel(const KernelBuild& build)
      : channels_first_(IsChannelsFirst(build)),
        sum_(Primitive<Reduce>(build)(ReduceKind::kBiasGradient, build.output_types()[0])) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    if (gradient.rank() < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "BiasAddGrad needs an input of rank 2 or more, has shape ", gradient.shape().ToString()));
    }
    const int channel_dim = ChannelDim(gradient.shape(), channels_first_);
    absl::InlinedVector<bool, 6> reduced(gradient.rank(), true);
    reduced[channel_dim] = false;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, {gradient.dim(channel_dim)}));
    return sum_->Run(ctx, gradient, reduced, output);
  }

 private:
  const bool channels_first_;
  const std::unique_ptr<Reduce> sum_;
};
REGISTER_KERNEL("BiasAddGrad", DevicesOf<Reduce>, BiasAddGradKernel)
    .TypeConstraint("T", DTypeList(kNumeric));

}  // namespace
}  // namespace tessera
