// The primitives of images that consist of pixels of other images, and of their gradient.
//
// Images are [batch, height, width, channels]. Outputs are allocated and overlap no input.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Sets output pixel (y, x) to pixel (rows[y], columns[x]) of the same image. Both tensors have one
// trivially copyable dtype and are not empty, and all indices are valid.
struct NearestPixels {
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> rows,
                                absl::Span<const int64_t> columns, const Tensor& images,
                                Tensor* output);
};

// The transpose of NearestPixels. Pixel (y, x) of `gradients` is added to pixel (rows[y],
// columns[x]) of the output, whose other pixels are 0. Both tensors have the same real dtype, in
// which the sums are computed.
struct NearestPixelsGradient {
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> rows,
                                absl::Span<const int64_t> columns, const Tensor& gradients,
                                Tensor* output);
};

}  // namespace tessera
