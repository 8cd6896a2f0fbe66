// The primitives of resampling images along their height and width, and of its gradient.
//
// Images are [batch, height, width, channels]. Outputs are allocated and overlap no input.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The taps of one axis. Output i is the sum over t < span of weight[i * span + t] times input
// index[i * span + t]. All indices are valid; unused taps have weight 0.
struct ResampleTaps {
  int span = 0;
  std::vector<int32_t> index;
  std::vector<float> weight;

  int64_t size() const { return span == 0 ? 0 : static_cast<int64_t>(index.size()) / span; }
};

// Resamples images of real numbers into floats, first along the width and then along the height.
// Two taps are interpolated as first + (second - first) * weight of the second, as in TensorFlow.
// Images and output are not empty.
struct Resample {
  using Function = absl::Status(KernelContext& ctx, const ResampleTaps& rows,
                                const ResampleTaps& columns, const Tensor& images, Tensor* output);
};

// The transpose of Resample. It spreads each of the float `gradients` over the inputs of its
// output. `output` has the shape of the images and a real dtype. Sums for double are computed in
// double, and all others in float. With two taps in both directions the products are floats for any
// dtype of the output, as in TensorFlow.
struct ResampleGradient {
  using Function = absl::Status(KernelContext& ctx, const ResampleTaps& rows,
                                const ResampleTaps& columns, const Tensor& gradients,
                                Tensor* output);
};

}  // namespace tessera
