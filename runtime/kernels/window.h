// Sliding windows: the attributes that convolutions and pools share, and the sizes they imply.
#pragma once

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// One spatial dimension of a window that slides over an input.
struct WindowExtent {
  int64_t output = 0;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
};

enum class Padding { kValid, kSame, kExplicit };

// The extent of a window that reaches over `reach` elements and moves by `stride`, for kValid (no
// padding) and kSame (as much as makes the output input / stride, rounded up). The output of kValid
// is 0 or less if the window does not fit.
WindowExtent SlideWindow(Padding padding, int64_t input, int64_t reach, int64_t stride);

// `ksizes`, `strides` or the like of an op without data_format: 1, a number for each spatial
// dimension, 1. Makes creation fail with INVALID_ARGUMENT for another length, with UNIMPLEMENTED
// for other numbers at the ends, with `not_positive` for numbers below 1.
std::vector<int64_t> ReadWindowList(const KernelBuild& build, absl::string_view attr,
                                    int spatial_rank, absl::StatusCode not_positive);

// Attributes `strides`, `dilations` (if the op has it), `padding`, `explicit_paddings` (if the op
// has it) and `data_format` of a node, checked. Built in a kernel's constructor, whose `build` gets
// the errors.
class WindowAttrs {
 public:
  // The checks of the constructor: all of them, or only that the lists have as many numbers as
  // there are dimensions, so that the caller can look first at what is refused with another code.
  enum class Checks { kAll, kLengths };

  // `spatial_rank` 2 or 3. Strides and dilations over batch and channels are left to the caller:
  // ops refuse them in different ways.
  WindowAttrs(const KernelBuild& build, int spatial_rank, Checks checks = Checks::kAll);

  bool channels_first() const { return channels_first_; }
  int spatial_rank() const { return spatial_rank_; }
  int channel_dim() const { return channels_first_ ? 1 : spatial_rank_ + 1; }
  int spatial_dim(int i) const { return i + (channels_first_ ? 2 : 1); }
  int64_t stride(int i) const { return strides_[spatial_dim(i)]; }
  int64_t dilation(int i) const { return dilations_[spatial_dim(i)]; }
  Padding padding() const { return padding_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  const std::vector<int64_t>& dilations() const { return dilations_; }

  // The checks that Checks::kLengths leaves out. Errors: INVALID_ARGUMENT for strides or dilations
  // that are not positive, and for explicit paddings that are negative, not over spatial
  // dimensions, or not asked for.
  absl::Status CheckStrides() const;
  absl::Status CheckDilations() const;
  absl::Status CheckPaddings() const;
  // The extent of spatial dimension i. Errors: INVALID_ARGUMENT if the window does not fit.
  absl::StatusOr<WindowExtent> Extent(int i, int64_t input, int64_t window) const;
  // A shape from its parts.
  Shape MakeShape(int64_t batch, absl::Span<const int64_t> spatial, int64_t channels) const;

 private:
  const int spatial_rank_;
  bool channels_first_ = false;
  Padding padding_ = Padding::kValid;
  std::vector<int64_t> strides_, dilations_, explicit_paddings_;
};

}  // namespace tessera
