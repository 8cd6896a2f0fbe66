#include "runtime/kernels/fused_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr int kBiasInput = 2;

}  // namespace

std::vector<std::string> FusedOpNames(const KernelBuild& build) {
  if (!build.has_attr("fused_ops")) return {};
  return build.attr<std::vector<std::string>>("fused_ops");
}

FusedOps::FusedOps(const KernelBuild& build, absl::Span<const std::string> names)
    : activate_(build) {
  if (names.empty()) return;
  const float alpha = build.has_attr("leakyrelu_alpha") ? build.attr<float>("leakyrelu_alpha") : 0;
  const absl::StatusOr<PostOps> post_ops = PostOps::Parse(names, alpha);
  if (!post_ops.ok()) {
    build.Fail(post_ops.status());
    return;
  }
  post_ops_ = *post_ops;
  broadcasts_ = std::find(names.begin(), names.end(), "AddN") == names.end();
  if (post_ops_.add) broadcast_add_.emplace(build, build.input_types()[0]);
  CheckArgs(build, (post_ops_.bias ? 1 : 0) + (post_ops_.add ? 1 : 0));
}

absl::Status FusedOps::Run(KernelContext& ctx, const Shape& shape, int64_t channels,
                           Compute compute) const {
  PostOpInputs inputs;
  if (post_ops_.bias) {
    inputs.bias = &ctx.input(kBiasInput);
    RETURN_IF_ERROR(CheckChannels("bias", inputs.bias, channels));
  }
  if (!post_ops_.add) {
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return compute(post_ops_, inputs, output);
  }
  const int addend_input = kBiasInput + (post_ops_.bias ? 1 : 0);
  const Tensor& addend = ctx.input(addend_input);
  if (addend.shape() == shape) {
    ASSIGN_OR_RETURN(Tensor* const output, ctx.ForwardOrAllocateOutput({addend_input}, 0, shape));
    // A forwarded input has no value any more.
    inputs.addend = addend.has_value() ? &addend : output;
    return compute(post_ops_, inputs, output);
  }
  if (!broadcasts_) {
    return absl::InvalidArgumentError(absl::StrCat("AddN needs inputs of one shape, they have ",
                                                   shape.ToString(), " and ",
                                                   addend.shape().ToString()));
  }
  // A slow road for shapes that hardly occur.
  PostOps only_bias;
  only_bias.bias = post_ops_.bias;
  ASSIGN_OR_RETURN(Tensor product, ctx.AllocateTemp(addend.dtype(), shape));
  RETURN_IF_ERROR(compute(only_bias, inputs, &product));
  ASSIGN_OR_RETURN(Tensor sum, broadcast_add_->Run(ctx, product, addend));
  RETURN_IF_ERROR(activate_(ctx, post_ops_.activation, post_ops_.alpha, &sum));
  ctx.set_output(0, std::move(sum));
  return absl::OkStatus();
}

void CheckArgs(const KernelBuild& build, int count, int max_count) {
  const ArgRange args = build.inputs("args");
  const DType dtype = build.input_types()[0];
  bool fits = args.size() >= count && args.size() <= max_count;
  for (int i = 0; fits && i < count; ++i) fits = build.input_types()[args.begin + i] == dtype;
  if (fits) return;
  build.Fail(absl::InvalidArgumentError(
      absl::StrCat("fused_ops need ", count, " args of ", DTypeName(dtype))));
}

absl::Status ChannelsError(absl::string_view what, const Tensor& values, int64_t channels) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the ", what, " must have ", channels, " elements, has shape ", values.shape().ToString()));
}

}  // namespace tessera
