#include "runtime/kernels/image/resize_arguments.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

absl::Status CheckPixels(const Tensor& images, absl::string_view name) {
  if (images.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' must be [batch, height, width, channels], has shape ",
                     images.shape().ToString()));
  }
  if (images.dim(1) <= 0 || images.dim(2) <= 0 || images.dim(1) > INT32_MAX ||
      images.dim(2) > INT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' has no pixels: its shape is ", images.shape().ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckImages(const Tensor& images, absl::string_view name) {
  RETURN_IF_ERROR(CheckPixels(images, name));
  if (images.dim(3) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' has no channels: its shape is ", images.shape().ToString()));
}

absl::StatusOr<IndexVector> ReadImageSize(const Tensor& input) {
  if (!(input.shape() == Shape{2})) {
    return absl::InvalidArgumentError(
        absl::StrCat("'size' must have two elements, has shape ", input.shape().ToString()));
  }
  ASSIGN_OR_RETURN(IndexVector size, ReadIndexVector(input, "size"));
  if (size[0] <= 0 || size[1] <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'size' must be positive, is [", size[0], ", ", size[1], "]"));
  }
  return size;
}

ResizeAttrs::ResizeAttrs(const KernelBuild& build, bool may_combine)
    : align_corners_(build.attr<bool>("align_corners")),
      half_pixel_centers_(build.has_attr("half_pixel_centers") &&
                          build.attr<bool>("half_pixel_centers")) {
  if (align_corners_ && half_pixel_centers_ && !may_combine) {
    build.Fail(
        absl::InvalidArgumentError("align_corners and half_pixel_centers exclude each other"));
  }
}

}  // namespace tessera
