#include "runtime/kernels/window.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

// TensorFlow reads sizes, strides and dilations as int32.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

absl::Status CheckPositive(const char* name, const std::vector<int64_t>& values) {
  if (std::all_of(values.begin(), values.end(), [](int64_t v) { return v > 0 && v <= kLargest; })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, " must be positive and fit in int32, are [",
                                                 absl::StrJoin(values, ", "), "]"));
}

// The number of windows that fit into `input` elements; 0 or less if none does.
int64_t OutputOf(int64_t input, int64_t reach, int64_t stride) {
  return input < reach ? (input - reach + stride) / stride : (input - reach) / stride + 1;
}

}  // namespace

WindowAttrs::WindowAttrs(const KernelBuild& build, int spatial_rank, Checks checks)
    : spatial_rank_(spatial_rank) {
  const size_t rank = spatial_rank + 2;
  const std::string format =
      build.has_attr("data_format") ? build.attr<std::string>("data_format") : "NHWC";
  if (format == "NCHW_VECT_C") {
    build.Fail(absl::InvalidArgumentError("data_format NCHW_VECT_C has no kernel on this device"));
  }
  channels_first_ = format == "NCHW" || format == "NCDHW" || format == "CHANNELS_FIRST";
  strides_ = build.attr<std::vector<int64_t>>("strides");
  dilations_ = build.has_attr("dilations") ? build.attr<std::vector<int64_t>>("dilations")
                                           : std::vector<int64_t>(rank, 1);
  // Conv, whose rank its declaration does not know, has an empty list by default.
  if (dilations_.empty() && build.op().name == "Conv") dilations_.assign(rank, 1);
  // TensorFlow's kernels of these gradients do not look at them.
  if (absl::StartsWith(build.op().name, "DepthwiseConv2dNativeBackprop"))
    dilations_.assign(rank, 1);
  const std::string padding = build.attr<std::string>("padding");
  padding_ = padding == "SAME"       ? Padding::kSame
             : padding == "EXPLICIT" ? Padding::kExplicit
                                     : Padding::kValid;
  if (build.has_attr("explicit_paddings")) {
    explicit_paddings_ = build.attr<std::vector<int64_t>>("explicit_paddings");
  }
  // TensorFlow's gradient of a pool looks at them only where they are asked for.
  if (build.op().name == "MaxPoolGrad" && padding_ != Padding::kExplicit) {
    explicit_paddings_.clear();
  }
  if (!build.status().ok()) return;

  const auto check_length = [&](const char* name, const std::vector<int64_t>& values) {
    if (values.size() == rank) return;
    build.Fail(absl::InvalidArgumentError(absl::StrCat(name, " must have ", rank, " numbers, has [",
                                                       absl::StrJoin(values, ", "), "]")));
  };
  check_length("strides", strides_);
  check_length("dilations", dilations_);
  if (checks == Checks::kLengths) return;
  build.Fail(CheckStrides());
  build.Fail(CheckDilations());
  build.Fail(CheckPaddings());
}

absl::Status WindowAttrs::CheckStrides() const { return CheckPositive("strides", strides_); }
absl::Status WindowAttrs::CheckDilations() const { return CheckPositive("dilations", dilations_); }

absl::Status WindowAttrs::CheckPaddings() const {
  const size_t num_paddings = padding_ == Padding::kExplicit ? 2 * strides_.size() : 0;
  if (explicit_paddings_.size() != num_paddings) {
    return absl::InvalidArgumentError(absl::StrCat("explicit_paddings must have ", num_paddings,
                                                   " numbers with this padding, has ",
                                                   explicit_paddings_.size()));
  }
  for (size_t i = 0; i < explicit_paddings_.size(); ++i) {
    const int dim = static_cast<int>(i / 2);
    const bool spatial = dim != 0 && dim != channel_dim();
    if (explicit_paddings_[i] < 0 || (!spatial && explicit_paddings_[i] != 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "explicit_paddings[", i, "] is ", explicit_paddings_[i],
          spatial ? ": it must not be negative" : ": batch and channels cannot be padded"));
    }
  }
  return absl::OkStatus();
}

WindowExtent SlideWindow(Padding padding, int64_t input, int64_t reach, int64_t stride) {
  WindowExtent extent;
  if (padding == Padding::kValid) {
    extent.output = OutputOf(input, reach, stride);
    return extent;
  }
  extent.output = input == 0 ? 0 : (input - 1) / stride + 1;
  const int64_t total = std::max<int64_t>(0, (extent.output - 1) * stride - input + reach);
  extent.pad_before = total / 2;
  extent.pad_after = total - extent.pad_before;
  return extent;
}

std::vector<int64_t> ReadWindowList(const KernelBuild& build, absl::string_view attr,
                                    int spatial_rank, absl::StatusCode not_positive) {
  const std::vector<int64_t> list = build.attr<std::vector<int64_t>>(attr);
  const auto fail = [&](absl::StatusCode code, absl::string_view what) {
    build.Fail(absl::Status(code, absl::StrCat(attr, what, absl::StrJoin(list, ", "), "]")));
    return std::vector<int64_t>(spatial_rank + 2, 1);
  };
  if (list.size() != static_cast<size_t>(spatial_rank) + 2) {
    return fail(absl::StatusCode::kInvalidArgument, " has another number of dimensions: [");
  }
  if (list.front() != 1 || list.back() != 1) {
    return fail(absl::StatusCode::kUnimplemented, " over batch or channels is not supported: [");
  }
  if (*std::min_element(list.begin(), list.end()) <= 0) {
    return fail(not_positive, " must be positive: [");
  }
  if (*std::max_element(list.begin(), list.end()) > kLargest) {
    return fail(absl::StatusCode::kInvalidArgument, " must fit in int32: [");
  }
  return list;
}

absl::StatusOr<WindowExtent> WindowAttrs::Extent(int i, int64_t input, int64_t window) const {
  const int64_t stride = this->stride(i);
  int64_t reach;
  bool overflows = __builtin_mul_overflow(window - 1, dilation(i), &reach) ||
                   __builtin_add_overflow(reach, 1, &reach);
  WindowExtent extent;
  if (padding_ == Padding::kExplicit) {
    extent.pad_before = explicit_paddings_[2 * spatial_dim(i)];
    extent.pad_after = explicit_paddings_[2 * spatial_dim(i) + 1];
    int64_t padded;
    overflows |= __builtin_add_overflow(input, extent.pad_before, &padded) ||
                 __builtin_add_overflow(padded, extent.pad_after, &padded);
    if (!overflows) extent.output = OutputOf(padded, reach, stride);
  } else if (!overflows) {
    extent = SlideWindow(padding_, input, reach, stride);
  }
  if (overflows) {
    return absl::InvalidArgumentError(absl::StrCat("a window of ", window,
                                                   " elements, its dilation and its paddings of "
                                                   "spatial dimension ",
                                                   i, " are too large"));
  }
  if (extent.output < 0) {
    return absl::InvalidArgumentError(absl::StrCat("a window of ", reach, " does not fit into ",
                                                   input, " elements of spatial dimension ", i,
                                                   " (stride ", stride, ")"));
  }
  return extent;
}

Shape WindowAttrs::MakeShape(int64_t batch, absl::Span<const int64_t> spatial,
                             int64_t channels) const {
  Shape shape{batch};
  if (channels_first_) shape.AddDim(channels);
  for (int64_t size : spatial) shape.AddDim(size);
  if (!channels_first_) shape.AddDim(channels);
  return shape;
}

}  // namespace tessera
