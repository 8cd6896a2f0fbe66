#include "runtime/kernels/nn/pool_window.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// TensorFlow reads sizes and strides as int32.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

}  // namespace

PoolWindow PoolWindow::FromAttrs(const KernelBuild& build, int spatial_rank,
                                 ChannelWindow channels) {
  PoolWindow window{WindowAttrs(build, spatial_rank, WindowAttrs::Checks::kLengths),
                    build.attr<std::vector<int64_t>>("ksize")};
  const std::vector<int64_t>& ksize = window.ksize;
  const std::vector<int64_t>& strides = window.attrs.strides();
  if (ksize.size() != static_cast<size_t>(spatial_rank + 2)) {
    build.Fail(
        absl::InvalidArgumentError(absl::StrCat("ksize must have ", spatial_rank + 2, " numbers")));
  }
  if (!build.status().ok()) return window;
  const auto check_sizes = [&] {
    for (int64_t k : ksize) {
      if (k >= 1 && k <= kLargest) continue;
      build.Fail(
          absl::InvalidArgumentError(absl::StrCat("ksize must be positive and fit in int32: ", k)));
    }
  };
  // TensorFlow looks at the sizes of these first.
  if (channels == ChannelWindow::kAllowed || spatial_rank == 3) check_sizes();
  if (ksize[0] != 1 || strides[0] != 1) {
    build.Fail(absl::UnimplementedError("pooling over the batch is not supported"));
  }
  const int channel_dim = window.attrs.channel_dim();
  if (channels == ChannelWindow::kRefused &&
      (ksize[channel_dim] != 1 || strides[channel_dim] != 1)) {
    build.Fail(absl::UnimplementedError(
        "pooling over channels is not supported: ksize and strides there must be 1"));
  }
  check_sizes();
  // Whether one that reaches over channels is supported is up to the run, and comes first.
  if (window.reaches_over_channels()) return window;
  if (channels == ChannelWindow::kRefusedLate) {
    for (int i = 0; i < spatial_rank; ++i) {
      const int64_t stride = window.attrs.stride(i);
      if (stride >= 1 && stride <= kLargest) continue;
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("strides must be positive and fit in int32, one is ", stride)));
    }
  } else {
    build.Fail(window.attrs.CheckStrides());
  }
  build.Fail(window.attrs.CheckPaddings());
  return window;
}

absl::StatusOr<PoolWindow> PoolWindow::FromInputs(const OpDef& op, const AttrMap& node_attrs,
                                                  const Tensor& ksize, const Tensor& strides,
                                                  ChannelWindow channels) {
  AttrMap attrs = node_attrs;
  for (const auto& [name, input] : {std::pair("ksize", &ksize), {"strides", &strides}}) {
    if (!(input->shape() == Shape{4})) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must have 4 elements, has shape ", input->shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector values, ReadIndexVector(*input, name));
    attrs.insert_or_assign(name, AttrValue(std::vector<int64_t>(values.begin(), values.end())));
  }
  const KernelBuild build(op, "", attrs, {}, {}, nullptr, nullptr);
  PoolWindow window = FromAttrs(build, 2, channels);
  RETURN_IF_ERROR(build.status());
  return window;
}

absl::StatusOr<PoolShape> PoolWindow::Geometry(const Shape& input) const {
  const int rank = attrs.spatial_rank();
  if (input.rank() != rank + 2) {
    return absl::InvalidArgumentError(absl::StrCat("pooling needs an input of rank ", rank + 2,
                                                   ", has shape ", input.ToString()));
  }
  if (reaches_over_channels()) {
    return absl::UnimplementedError(
        absl::StrCat("pooling over channels is not supported, and the window reaches over ",
                     ksize[attrs.channel_dim()]));
  }
  PoolShape shape;
  shape.channels_first = attrs.channels_first();
  shape.batch = input.dim(0);
  shape.channels = input.dim(attrs.channel_dim());
  for (int i = 0; i < rank; ++i) {
    const int at = 3 - rank + i;
    shape.input[at] = input.dim(attrs.spatial_dim(i));
    shape.window[at] = ksize[attrs.spatial_dim(i)];
    shape.stride[at] = attrs.stride(i);
    ASSIGN_OR_RETURN(const WindowExtent extent, attrs.Extent(i, shape.input[at], shape.window[at]));
    if (std::max(extent.pad_before, extent.pad_after) >= shape.window[at]) {
      return absl::InvalidArgumentError(
          absl::StrCat("padding of ", extent.pad_before, " and ", extent.pad_after,
                       " must be smaller than the window of ", shape.window[at]));
    }
    shape.output[at] = extent.output;
    shape.pad[at] = extent.pad_before;
  }
  return shape;
}

PoolWindow PoolWindow::OverPoints() const {
  PoolWindow window = *this;
  window.ksize[attrs.channel_dim()] = 1;
  return window;
}

Shape PoolWindow::OutputShape(const PoolShape& shape) const {
  return attrs.MakeShape(shape.batch,
                         absl::MakeConstSpan(shape.output).subspan(3 - attrs.spatial_rank()),
                         shape.channels);
}

absl::Status CheckChannelWindow(const PoolWindow& pool, const Shape& shape) {
  if (shape.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("pooling needs an input of rank 4, has shape ", shape.ToString()));
  }
  const WindowAttrs& attrs = pool.attrs;
  const std::vector<int64_t>& ksize = pool.ksize;
  const int64_t window = ksize[attrs.channel_dim()], channels = shape.dim(attrs.channel_dim());
  const char* const refusal = ksize[attrs.spatial_dim(0)] > 1 || ksize[attrs.spatial_dim(1)] > 1
                                  ? "it reaches over points, too"
                              : window != attrs.strides()[attrs.channel_dim()]
                                  ? "it does not move by its own size"
                              : channels % window != 0 ? "it does not part them evenly"
                              : attrs.padding() == Padding::kExplicit ? "there is explicit padding"
                              : attrs.channels_first()                ? "they come first"
                                                                      : nullptr;
  if (refusal == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("a window of ", window, " over ", channels,
                                               " channels is not supported: ", refusal));
}

}  // namespace tessera
