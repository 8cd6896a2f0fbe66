// Resampling along one axis of an image: which inputs make an output, by which weights.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/resample.h"

namespace tessera {

// How outputs lie over inputs.
struct ResampleGrid {
  int64_t in_size = 0, out_size = 0;  // at least 1
  bool align_corners = false;         // the first and the last samples of both coincide
  bool half_pixel_centers = false;    // samples are at the centres of pixels, not at their corners

  // Inputs an output.
  float Scale() const;
  // Returns the position of output i between the inputs.
  float Position(int64_t i) const;
};

// Two taps each: weights 1 - f and f.
ResampleTaps BilinearTaps(const ResampleGrid& grid);
// Four taps each (Keys, "Cubic convolution interpolation for digital image processing", 1981), with
// a = -0.5 and taps outside left out for half-pixel centres, with a = -0.75 and the edge repeated
// without; weights to 1/1024 of a pixel, as TensorFlow has them.
ResampleTaps BicubicTaps(const ResampleGrid& grid);
// The mean over the area of inputs that an output covers.
ResampleTaps AreaTaps(const ResampleGrid& grid);

// Samples at (i + 0.5 - translation) / scale with a kernel: lanczos1, lanczos3, lanczos5, gaussian,
// box, triangle, keyscubic, mitchellcubic. `antialias` widens it when shrinking. Outputs that lie
// outside the input have no weight.
// Errors: INVALID_ARGUMENT for another kernel, or a scale that is not positive.
absl::StatusOr<ResampleTaps> KernelTaps(int64_t in_size, int64_t out_size, float scale,
                                        float translation, const std::string& kernel,
                                        bool antialias);

}  // namespace tessera
