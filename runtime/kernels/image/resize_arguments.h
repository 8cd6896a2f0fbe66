// The arguments of the ops that resize images: their images, sizes and attributes.
#pragma once

#include "runtime/framework/kernel.h"
#include "runtime/kernels/image/resample_taps.h"
#include "runtime/kernels/index_input.h"

namespace tessera {

// Errors: INVALID_ARGUMENT, naming `name`, unless the tensor is [batch, height, width, channels],
// height and width not 0.
absl::Status CheckPixels(const Tensor& images, absl::string_view name);
// The same, and unless there are channels.
absl::Status CheckImages(const Tensor& images, absl::string_view name);

// Height and width. Errors: INVALID_ARGUMENT unless there are two numbers, both positive.
absl::StatusOr<IndexVector> ReadImageSize(const Tensor& input);

// The attributes that place outputs over inputs. Unless `may_combine`, as for the gradient of the
// nearest pixel, creation fails if both are set.
class ResizeAttrs {
 public:
  explicit ResizeAttrs(const KernelBuild& build, bool may_combine = false);
  ResampleGrid Grid(int64_t in_size, int64_t out_size) const {
    return {in_size, out_size, align_corners_, half_pixel_centers_};
  }

 private:
  const bool align_corners_, half_pixel_centers_;
};

}  // namespace tessera
