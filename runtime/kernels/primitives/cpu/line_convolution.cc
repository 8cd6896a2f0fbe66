#include "runtime/kernels/primitives/cpu/line_convolution.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace tessera {

bool IsLineConvolution(const ConvolutionShape& s) {
  const auto is_one = [](int64_t d) { return d == 1; };
  return s.filter.size() == 2 && !s.channels_first && s.groups == 1 && s.input[0] == 1 &&
         s.output[0] == 1 && s.filter[0] == 1 && s.filter[1] > 1 &&
         std::all_of(s.dilations.begin(), s.dilations.end(), is_one);
}

absl::Status ConvolveLines(KernelContext& ctx, const ConvolutionShape& s, const PostOps& post_ops,
                           const float* input, const ScaledWeights& filter, const float* bias,
                           PackedWeights* packed, float* output, ComputeItems fallback) {
  const int64_t before = s.pad_before[1] * s.in_channels, after = s.pad_after[1] * s.in_channels;
  const int64_t line = s.input[1] * s.in_channels, out_line = s.output[1] * s.out_channels;
  Tensor padded;
  if (before + after > 0) {
    ASSIGN_OR_RETURN(padded, ctx.AllocateTemp(DType::kFloat, {before + line + after}));
    std::fill_n(padded.data<float>(), before, 0.0f);
    std::fill_n(padded.data<float>() + before + line, after, 0.0f);
  }
  for (int64_t image = 0; image < s.batch; ++image) {
    const float* from = input + image * line;
    if (padded.has_value()) {
      std::copy_n(from, line, padded.data<float>() + before);
      from = padded.data<float>();
    }
    RETURN_IF_ERROR(StrassenMatMul(
        ctx,
        {.m = s.output[1],
         .n = s.out_channels,
         .k = s.filter[1] * s.in_channels,
         .post_ops = post_ops,
         .a = from,
         .a_step = s.strides[1] * s.in_channels,
         .b = filter,
         .bias = bias,
         .packed = packed,
         .output = output + image * out_line},
        [&](KernelContext& all, int64_t, int64_t) { return fallback(all, image, 1); }));
  }
  return absl::OkStatus();
}

}  // namespace tessera
