// JPEG files from images: EncodeJpeg, EncodeJpegVariableQuality.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/jpeg_encoder.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

absl::Status CheckQuality(int64_t quality) {
  if (quality >= 0 && quality <= 100) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("quality must be in [0,100], got ", quality));
}

class EncodeJpegKernel : public OpKernel {
 public:
  explicit EncodeJpegKernel(const KernelBuild& build)
      : variable_quality_(build.op().name == "EncodeJpegVariableQuality") {
    if (variable_quality_) return;
    format_ = build.attr<std::string>("format");
    const int64_t quality = build.attr<int64_t>("quality");
    build.Fail(CheckQuality(quality));
    encoding_.quality = static_cast<int>(quality);
    encoding_.progressive = build.attr<bool>("progressive");
    encoding_.optimize_size = build.attr<bool>("optimize_size");
    encoding_.chroma_downsampling = build.attr<bool>("chroma_downsampling");
    encoding_.density_in_cm = build.attr<std::string>("density_unit") == "cm";
    encoding_.x_density = static_cast<int>(build.attr<int64_t>("x_density"));
    encoding_.y_density = static_cast<int>(build.attr<int64_t>("y_density"));
    encoding_.xmp_metadata = build.attr<std::string>("xmp_metadata");
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    if (image.rank() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("image must be 3-dimensional, has shape ", image.shape().ToString()));
    }
    const int64_t channels = image.dim(2);
    const int64_t expected = format_ == "grayscale" ? 1 : format_ == "rgb" ? 3 : channels;
    if (channels != expected) {
      return absl::InvalidArgumentError(absl::StrCat("format ", format_, " expects ", expected,
                                                     " channels, got ", image.shape().ToString()));
    }
    if (channels != 1 && channels != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("image must have 1 or 3 channels, got ", image.shape().ToString()));
    }
    JpegEncoding encoding = encoding_;
    if (variable_quality_) {
      if (ctx.input(1).rank() != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("quality must be scalar: ", ctx.input(1).shape().ToString()));
      }
      encoding.quality = ctx.input(1).scalar<int32_t>();
      RETURN_IF_ERROR(CheckQuality(encoding.quality));
    }
    ASSIGN_OR_RETURN(Tensor* const file, ctx.AllocateOutput(0, Shape()));
    ASSIGN_OR_RETURN(file->scalar<std::string>(),
                     EncodeJpeg(image.data<uint8_t>(), image.dim(0), image.dim(1),
                                static_cast<int>(channels), encoding));
    return absl::OkStatus();
  }

 private:
  const bool variable_quality_;
  std::string format_;
  JpegEncoding encoding_;
};
REGISTER_KERNEL("EncodeJpeg", kCpu, EncodeJpegKernel);
REGISTER_KERNEL("EncodeJpegVariableQuality", kCpu, EncodeJpegKernel).HostMemory("quality");

}  // namespace
}  // namespace tessera
