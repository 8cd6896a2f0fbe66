#include "runtime/kernels/primitives/nearest_pixels.h"

#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

absl::Status RunNearestPixels(KernelContext& ctx, absl::Span<const int64_t> rows,
                              absl::Span<const int64_t> columns, const Tensor& images,
                              Tensor* output) {
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  const auto out_height = static_cast<int64_t>(rows.size()),
             out_width = static_cast<int64_t>(columns.size());
  const int64_t pixel = channels * static_cast<int64_t>(DTypeSize(images.dtype()));
  ctx.ParallelFor(images.dim(0) * out_height, 2.0 * out_width, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const char* const row =
          images.raw() + (y / out_height * height + rows[y % out_height]) * width * pixel;
      char* to = output->mutable_raw() + y * out_width * pixel;
      for (const int64_t x : columns) {
        CopyElements(images.dtype(), row + x * pixel, to, channels);
        to += pixel;
      }
    }
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(NearestPixels, kCpu, RunNearestPixels);

absl::Status RunNearestPixelsGradient(KernelContext& /*ctx*/, absl::Span<const int64_t> rows,
                                      absl::Span<const int64_t> columns, const Tensor& gradients,
                                      Tensor* output) {
  ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
  const int64_t channels = gradients.dim(3);
  const auto height = static_cast<int64_t>(rows.size());
  return VisitRealType(output->dtype(), [&]<typename T>() {
    const T* g = gradients.data<T>();
    for (int64_t y = 0; y < gradients.dim(0) * height; ++y) {
      T* const row = output->data<T>() +
                     (y / height * output->dim(1) + rows[y % height]) * output->dim(2) * channels;
      for (const int64_t x : columns) {
        for (int64_t c = 0; c < channels; ++c) row[x * channels + c] += *g++;
      }
    }
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(NearestPixelsGradient, kCpu, RunNearestPixelsGradient);

}  // namespace
}  // namespace tessera
