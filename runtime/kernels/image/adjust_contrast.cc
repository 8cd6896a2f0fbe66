// AdjustContrast, the first version: with limits, and to floats whatever it is given.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Scales the distance of each channel of [..., height, width, channels] from its mean.
class AdjustContrastKernel : public OpKernel {
 public:
  explicit AdjustContrastKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const int rank = images.rank();
    for (int i = 1; i < 4; ++i) {
      if (ctx.input(i).rank() != 0 || rank < 3) {
        return absl::InvalidArgumentError(absl::StrCat(
            "images must have a rank of at least 3, factor and limits must be scalars; they have "
            "shapes ",
            images.shape().ToString(), " and ", ctx.input(i).shape().ToString()));
      }
    }
    const float factor = ctx.input(1).scalar<float>(), low = ctx.input(2).scalar<float>(),
                high = ctx.input(3).scalar<float>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, images.shape()));
    if (output->num_elements() == 0) return absl::OkStatus();
    const int64_t channels = images.dim(rank - 1);
    const int64_t points = images.dim(rank - 2) * images.dim(rank - 3);
    return VisitRealType(images.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < DimProduct(images.shape(), 0, rank - 3); ++i) {
        for (int64_t c = 0; c < channels; ++c) {
          const T* const from = images.data<T>() + i * points * channels + c;
          float* const to = output->data<float>() + i * points * channels + c;
          double sum = 0;
          for (int64_t p = 0; p < points; ++p) sum += static_cast<double>(from[p * channels]);
          const float mean = static_cast<float>(sum / static_cast<double>(points));
          for (int64_t p = 0; p < points; ++p) {
            const float value = (static_cast<float>(from[p * channels]) - mean) * factor + mean;
            to[p * channels] = std::max(std::min(value, high), low);
          }
        }
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("AdjustContrast", kCpu, AdjustContrastKernel);

}  // namespace
}  // namespace tessera
