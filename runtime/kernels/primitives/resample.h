// Primitives: resampling of images along their height and their width, and its gradient.
//
// Images are [batch, height, width, channels]. Outputs are allocated and overlap no input.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Resampling along one axis: output i is the sum over t < span of weight[i * span + t] times input
// index[i * span + t]. All indices are valid; taps that are not needed have weight 0.
struct ResampleTaps {
  int span = 0;
  std::vector<int32_t> index;
  std::vector<float> weight;

  int64_t size() const { return span == 0 ? 0 : static_cast<int64_t>(index.size()) / span; }
};

// Resamples images of real numbers into floats: along the width first, then along the height. A
// sum of two taps is first + (second - first) * weight of the second, as TensorFlow interpolates.
// Images and output are not empty.
struct Resample {
  using Function = absl::Status(KernelContext& ctx, const ResampleTaps& rows,
                                const ResampleTaps& columns, const Tensor& images, Tensor* output);
};

// The transpose of Resample: spreads each of the float `gradients` over the inputs that made its
// output. `output` has the shape of the images and is of real numbers. Sums of double are made in
// double, all others in float. With two taps in both directions products are floats whatever the
// output is, as TensorFlow's are.
struct ResampleGradient {
  using Function = absl::Status(KernelContext& ctx, const ResampleTaps& rows,
                                const ResampleTaps& columns, const Tensor& gradients,
                                Tensor* output);
};

}  // namespace tessera
