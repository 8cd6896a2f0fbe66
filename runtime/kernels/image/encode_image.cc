// Files from images: EncodePng.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/png_writer.h"

namespace tessera {
namespace {

// Encodes each image of [..., height, width, channels].
class EncodePngKernel : public OpKernel {
 public:
  explicit EncodePngKernel(const KernelBuild& build)
      : compression_(build.attr<int64_t>("compression")) {
    build.Fail(CheckPngCompression(compression_));
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const int rank = images.rank();
    if (rank < 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "image must have a shape of rank three or more, has ", images.shape().ToString()));
    }
    const int64_t channels = images.dim(rank - 1);
    if (channels < 1 || channels > 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("image must have 1, 2, 3, or 4 channels, has ", channels));
    }
    PngPixels pixels{.width = images.dim(rank - 2),
                     .height = images.dim(rank - 3),
                     .channels = static_cast<int>(channels),
                     .bits = images.dtype() == DType::kUint16 ? 16 : 8};
    const Shape batch(images.shape().dims().subspan(0, rank - 3));
    ASSIGN_OR_RETURN(Tensor * files, ctx.AllocateOutput(0, batch));
    const int64_t bytes = pixels.height * pixels.width * pixels.channels * (pixels.bits / 8);
    for (int64_t i = 0; i < batch.num_elements(); ++i) {
      pixels.data = images.raw() + i * bytes;
      ASSIGN_OR_RETURN(files->data<std::string>()[i], WritePng(pixels, compression_));
    }
    return absl::OkStatus();
  }

 private:
  const int64_t compression_;
};
REGISTER_KERNEL("EncodePng", kCpu, EncodePngKernel);

}  // namespace
}  // namespace tessera
