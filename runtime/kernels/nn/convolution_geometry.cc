#include "runtime/kernels/nn/convolution_geometry.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {

WindowAttrs ReadConvolutionWindow(const KernelBuild& build, int spatial_rank, FilterKind kind) {
  WindowAttrs window(build, spatial_rank, WindowAttrs::Checks::kLengths);
  if (!build.status().ok()) return window;
  const bool depthwise = kind == FilterKind::kDepthwise;
  const auto refuse = [&](absl::StatusCode code, absl::string_view what,
                          const std::vector<int64_t>& values) {
    build.Fail(absl::Status(
        code, absl::StrCat(what, " are not supported: [", absl::StrJoin(values, ", "), "]")));
  };
  const auto stays = [&](const std::vector<int64_t>& values) {
    return values[0] == 1 && values[window.channel_dim()] == 1;
  };
  const std::string& op = build.op().name;
  const bool is_invalid = depthwise || spatial_rank == 3 || op == "Conv" ||
                          op == "Conv2DBackpropFilter" || op == "QuantizedConv2D" ||
                          op == "FusedPadConv2D" || op == "FusedResizeAndPadConv2D";
  const absl::StatusCode code =
      is_invalid ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kUnimplemented;
  if (!stays(window.strides())) refuse(code, "strides over batch or channels", window.strides());
  build.Fail(window.CheckStrides());
  if (depthwise) {
    if (window.stride(0) != window.stride(1)) {
      refuse(code, "unequal strides of depthwise filters", window.strides());
    }
    if (window.dilation(0) < 1 || window.dilation(1) < 1) build.Fail(window.CheckDilations());
    if (!stays(window.dilations()) || window.dilation(0) != 1 || window.dilation(1) != 1) {
      refuse(absl::StatusCode::kUnimplemented, "dilations of depthwise filters",
             window.dilations());
    }
  } else if (!stays(window.dilations())) {
    refuse(code, "dilations over batch or channels", window.dilations());
  }
  build.Fail(window.CheckDilations());
  build.Fail(window.CheckPaddings());
  return window;
}

absl::StatusOr<ConvolutionShape> ConvolutionGeometry(const WindowAttrs& window, FilterKind kind,
                                                     const Shape& input, const Shape& filter) {
  const int spatial_rank = window.spatial_rank(), rank = spatial_rank + 2;
  if (input.rank() != rank || filter.rank() != rank) {
    return absl::InvalidArgumentError(absl::StrCat("input and filter must have rank ", rank,
                                                   ", have shapes ", input.ToString(), " and ",
                                                   filter.ToString()));
  }
  ConvolutionShape shape;
  shape.channels_first = window.channels_first();
  shape.batch = input.dim(0);
  shape.in_channels = input.dim(window.channel_dim());
  const int64_t filter_in = filter.dim(spatial_rank), filter_out = filter.dim(spatial_rank + 1);
  if (kind == FilterKind::kDepthwise) {
    if (filter_in != shape.in_channels) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the filter is for ", filter_in, " channels, the input has ", shape.in_channels));
    }
    shape.groups = shape.in_channels;
    shape.out_channels = shape.in_channels * filter_out;
  } else {
    if (filter_in < 1 || shape.in_channels % filter_in != 0) {
      return absl::InvalidArgumentError(absl::StrCat("the input's ", shape.in_channels,
                                                     " channels are no multiple of the filter's ",
                                                     filter_in));
    }
    shape.groups = shape.in_channels / filter_in;
    shape.out_channels = filter_out;
    if (shape.groups < 1 || filter_out % shape.groups != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the filter's ", filter_out, " outputs are no multiple of ", shape.groups, " groups"));
    }
  }
  for (int i = 0; i < spatial_rank; ++i) {
    const int64_t size = input.dim(window.spatial_dim(i)), taps = filter.dim(i);
    // Sums of nothing are zeros, which TensorFlow gives for depthwise filters only. A filter for no
    // output channels may be of any size in two dimensions.
    const bool has_no_outputs = filter_out == 0 && spatial_rank == 2;
    if (taps < 1 && kind != FilterKind::kDepthwise && !has_no_outputs) {
      return absl::InvalidArgumentError(
          absl::StrCat("the filter is empty: shape ", filter.ToString()));
    }
    ASSIGN_OR_RETURN(const WindowExtent extent, window.Extent(i, size, taps));
    shape.input.push_back(size);
    shape.filter.push_back(taps);
    shape.output.push_back(extent.output);
    shape.strides.push_back(window.stride(i));
    shape.dilations.push_back(window.dilation(i));
    shape.pad_before.push_back(extent.pad_before);
    shape.pad_after.push_back(extent.pad_after);
  }
  return shape;
}

}  // namespace tessera
