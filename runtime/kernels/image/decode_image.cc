// Images from their files: DecodeJpeg, DecodeAndCropJpeg, DecodePng, DecodeGif, DecodeBmp,
// DecodeWebP, DecodeImage, ExtractJpegShape.
#include <cstring>
#include <limits>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/image_bmp.h"
#include "runtime/kernels/image/image_gif.h"
#include "runtime/kernels/image/image_jpeg.h"
#include "runtime/kernels/image/image_png.h"
#include "runtime/kernels/image/image_webp.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

constexpr absl::string_view kJpegMagic = "\xff\xd8\xff";
constexpr absl::string_view kPngMagic = "\x89PNG";
constexpr absl::string_view kGifMagic = "GIF8";
constexpr absl::string_view kBmpMagic = "BM";
// The kind of a RIFF file stands behind its tag and its size.
bool IsWebp(absl::string_view bytes) {
  return absl::StartsWith(bytes, "RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP";
}
// A header of a few bytes may ask for any size: larger images are refused before memory is given.
constexpr int64_t kMaxSamples = int64_t{1} << 30;

// Errors: INVALID_ARGUMENT for more samples than one image may have.
absl::StatusOr<Shape> CheckedShape(absl::Span<const int64_t> dims) {
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok() || shape->num_elements() > kMaxSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image is too large: ", PartialShape(dims).ToString(), " samples"));
  }
  return shape;
}

// Errors: INVALID_ARGUMENT unless there is one string.
absl::StatusOr<absl::string_view> ReadContents(const Tensor& input) {
  if (!input.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'contents' must be a scalar, has shape ", input.shape().ToString()));
  }
  return absl::string_view(input.scalar<std::string>());
}

JpegOptions JpegOptionsOf(const KernelBuild& build) {
  JpegOptions options;
  if (!build.has_attr("dct_method")) return options;  // DecodeImage, DecodePng
  options.ratio = static_cast<int>(build.attr<int64_t>("ratio"));
  options.fancy_upscaling = build.attr<bool>("fancy_upscaling");
  options.try_recover_truncated = build.attr<bool>("try_recover_truncated");
  options.acceptable_fraction = build.attr<float>("acceptable_fraction");
  const std::string method = build.attr<std::string>("dct_method");
  if (method != "" && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    build.Fail(absl::InvalidArgumentError(absl::StrCat(
        "dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', is '", method, "'")));
  }
  options.fast_dct = method != "INTEGER_ACCURATE";
  if (options.ratio != 1 && options.ratio != 2 && options.ratio != 4 && options.ratio != 8) {
    build.Fail(
        absl::InvalidArgumentError(absl::StrCat("ratio must be 1, 2, 4 or 8, is ", options.ratio)));
  }
  return options;
}

// 8-bit samples as another dtype: 16 bits hold them in the upper byte, floats are at most 1.
void ConvertBytes(const Tensor& bytes, Tensor* out) {
  const uint8_t* const from = bytes.data<uint8_t>();
  for (int64_t i = 0, count = bytes.num_elements(); i < count; ++i) {
    if (out->dtype() == DType::kUint16) {
      out->data<uint16_t>()[i] = static_cast<uint16_t>(from[i] * 256);
    } else {
      out->data<float>()[i] = static_cast<float>(from[i]) / 255.0f;
    }
  }
}

// Each op takes what it is named for; DecodeJpeg, DecodePng and DecodeGif take one another's files
// too, an animation not being a single image. Output [height, width, channels]; for DecodeGif and
// DecodeWebP, and for GIF and WebP in DecodeImage unless `expand_animations` is off, [frames,
// height, width, channels]. Errors: INVALID_ARGUMENT for another format, a damaged file, or
// channels that the format lacks.
class DecodeImageKernel : public OpKernel {
 public:
  explicit DecodeImageKernel(const KernelBuild& build)
      : op_(build.op().name),
        channels_(build.has_attr("channels") ? build.attr<int64_t>("channels") : 3),
        expand_animations_(!build.has_attr("expand_animations") ||
                           build.attr<bool>("expand_animations")),
        jpeg_(JpegOptionsOf(build)) {
    const bool is_jpeg = op_ == "DecodeJpeg" || op_ == "DecodeAndCropJpeg";
    if (channels_ != 0 && channels_ != 1 && channels_ != 3 && (channels_ != 4 || is_jpeg)) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("channels must be 0, 1, 3", is_jpeg ? "" : " or 4", ", is ", channels_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, ReadContents(ctx.input(0)));
    if (op_ == "DecodeWebP") return FromWebp(ctx, bytes);
    const bool may_be_bmp = op_ == "DecodeBmp" || op_ == "DecodeImage";
    const bool only_jpeg = op_ == "DecodeAndCropJpeg";
    if (absl::StartsWith(bytes, kJpegMagic) && op_ != "DecodeBmp") return FromJpeg(ctx, bytes);
    if (absl::StartsWith(bytes, kPngMagic) && op_ != "DecodeBmp" && !only_jpeg) {
      return FromPng(ctx, bytes);
    }
    if (absl::StartsWith(bytes, kGifMagic) && op_ != "DecodeBmp" && !only_jpeg) {
      return FromGif(ctx, bytes);
    }
    if (absl::StartsWith(bytes, kBmpMagic) && may_be_bmp) return FromBmp(ctx, bytes);
    if (IsWebp(bytes) && op_ == "DecodeImage") return FromWebp(ctx, bytes);
    return absl::InvalidArgumentError(absl::StrCat(
        op_, " cannot read an image that begins with ",
        bytes.size() < 4 ? "too few bytes"
                         : absl::StrCat("bytes ", absl::BytesToHexString(bytes.substr(0, 4)))));
  }

 private:
  absl::StatusOr<Shape> ImageShape(int64_t height, int64_t width, int64_t channels) const {
    if (op_ == "DecodeGif") return CheckedShape({1, height, width, channels});
    return CheckedShape({height, width, channels});
  }

  // Lets `decode` write 8-bit samples of an image of this shape into output 0.
  absl::Status WriteBytes(KernelContext& ctx, const Shape& shape,
                          absl::FunctionRef<absl::Status(uint8_t*)> decode) const {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->dtype() == DType::kUint8) return decode(out->data<uint8_t>());
    ASSIGN_OR_RETURN(Tensor bytes, ctx.AllocateTemp(DType::kUint8, shape));
    RETURN_IF_ERROR(decode(bytes.data<uint8_t>()));
    ConvertBytes(bytes, out);
    return absl::OkStatus();
  }

  absl::Status FromJpeg(KernelContext& ctx, absl::string_view bytes) const {
    if (channels_ == 4) return absl::InvalidArgumentError("a JPEG image has no 4 channels");
    JpegOptions options = jpeg_;
    options.channels = channels_;
    ASSIGN_OR_RETURN(const std::unique_ptr<JpegReader> jpeg, JpegReader::Open(bytes, options));
    const int64_t height = jpeg->height(), width = jpeg->width(), channels = jpeg->channels();
    if (op_ == "DecodeAndCropJpeg") {
      ASSIGN_OR_RETURN(const Shape whole, CheckedShape({height, width, channels}));
      ASSIGN_OR_RETURN(const JpegWindow window, ReadWindow(ctx.input(1), whole));
      const Shape shape{window.height, window.width, channels};
      return WriteBytes(ctx, shape, [&](uint8_t* to) { return jpeg->ReadWindow(window, to); });
    }
    ASSIGN_OR_RETURN(const Shape shape, ImageShape(height, width, channels));
    return WriteBytes(ctx, shape, [&](uint8_t* to) { return jpeg->Read(to); });
  }

  // Errors: INVALID_ARGUMENT for anything but a window with pixels in an image of this shape.
  static absl::StatusOr<JpegWindow> ReadWindow(const Tensor& input, const Shape& image) {
    if (!(input.shape() == Shape{4})) {
      return absl::InvalidArgumentError("'crop_window' must be [y, x, height, width]");
    }
    ASSIGN_OR_RETURN(const IndexVector window, ReadIndexVector(input, "crop_window"));
    const int64_t y = window[0], x = window[1], height = window[2], width = window[3];
    if (y < 0 || x < 0 || height <= 0 || width <= 0 || y + height > image.dim(0) ||
        x + width > image.dim(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("crop window [", y, ", ", x, ", ", height, ", ", width,
                       "] does not lie in an image of shape ", image.ToString()));
    }
    return JpegWindow{.y = y, .x = x, .height = height, .width = width};
  }

  absl::Status FromPng(KernelContext& ctx, absl::string_view bytes) const {
    const bool narrow = ctx.output_type(0) == DType::kUint8;
    ASSIGN_OR_RETURN(const std::unique_ptr<PngReader> png,
                     PngReader::Open(bytes, channels_, narrow ? 8 : 16));
    ASSIGN_OR_RETURN(const Shape shape, ImageShape(png->height(), png->width(), png->channels()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->dtype() != DType::kFloat) return png->Read(out->mutable_raw());
    ASSIGN_OR_RETURN(Tensor samples, ctx.AllocateTemp(DType::kUint16, shape));
    const uint16_t* const from = samples.data<uint16_t>();
    RETURN_IF_ERROR(png->Read(samples.data<uint16_t>()));
    for (int64_t i = 0, count = samples.num_elements(); i < count; ++i) {
      out->data<float>()[i] = static_cast<float>(from[i]) / 65535.0f;
    }
    return absl::OkStatus();
  }

  absl::Status FromGif(KernelContext& ctx, absl::string_view bytes) const {
    if (channels_ != 0 && channels_ != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("a GIF image has 3 channels, not ", channels_));
    }
    const bool many = op_ == "DecodeGif" || (op_ == "DecodeImage" && expand_animations_);
    Tensor bytes_to_convert;
    Tensor* out = nullptr;
    auto allocate = [&](int64_t frames, int64_t height, int64_t width) -> absl::StatusOr<uint8_t*> {
      if (!many && frames > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(op_, " cannot read an animation of ", frames, " frames; DecodeGif can"));
      }
      ASSIGN_OR_RETURN(const Shape shape, many ? CheckedShape({frames, height, width, 3})
                                               : CheckedShape({height, width, 3}));
      ASSIGN_OR_RETURN(out, ctx.AllocateOutput(0, shape));
      if (out->dtype() == DType::kUint8) return out->data<uint8_t>();
      ASSIGN_OR_RETURN(bytes_to_convert, ctx.AllocateTemp(DType::kUint8, shape));
      return bytes_to_convert.data<uint8_t>();
    };
    RETURN_IF_ERROR(
        DecodeGif(bytes, op_ == "DecodeImage" && !expand_animations_, kMaxSamples, allocate));
    if (bytes_to_convert.has_value()) ConvertBytes(bytes_to_convert, out);
    return absl::OkStatus();
  }

  absl::Status FromWebp(KernelContext& ctx, absl::string_view bytes) const {
    if (channels_ == 1) {
      return absl::InvalidArgumentError("a WebP image has 3 or 4 channels, not 1");
    }
    if (ctx.output_type(0) != DType::kUint8) {
      return absl::InvalidArgumentError("a WebP image can only be decoded to uint8");
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<WebpReader> webp, WebpReader::Open(bytes));
    const int64_t height = webp->height(), width = webp->width(), channels = webp->channels();
    if (channels_ != 0 && channels_ != channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("the WebP image has ", channels, " channels, not ", channels_));
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     expand_animations_ ? CheckedShape({webp->frames(), height, width, channels})
                                        : CheckedShape({height, width, channels}));
    return WriteBytes(ctx, shape, [&](uint8_t* to) {
      return webp->Read(expand_animations_ ? webp->frames() : 1, to);
    });
  }

  absl::Status FromBmp(KernelContext& ctx, absl::string_view bytes) const {
    ASSIGN_OR_RETURN(const BmpImage bmp, BmpImage::Parse(bytes, channels_));
    ASSIGN_OR_RETURN(const Shape shape, CheckedShape({bmp.height, bmp.width, bmp.channels}));
    return WriteBytes(ctx, shape, [&](uint8_t* to) {
      bmp.Read(to);
      return absl::OkStatus();
    });
  }

  const std::string op_;
  const int64_t channels_;
  const bool expand_animations_;
  const JpegOptions jpeg_;
};
REGISTER_KERNEL("DecodeJpeg", kCpu, DecodeImageKernel);
REGISTER_KERNEL("DecodeAndCropJpeg", kCpu, DecodeImageKernel).HostMemory("crop_window");
REGISTER_KERNEL("DecodePng", kCpu, DecodeImageKernel);
REGISTER_KERNEL("DecodeGif", kCpu, DecodeImageKernel);
REGISTER_KERNEL("DecodeBmp", kCpu, DecodeImageKernel);
REGISTER_KERNEL("DecodeWebP", kCpu, DecodeImageKernel);
REGISTER_KERNEL("DecodeImage", kCpu, DecodeImageKernel);

// Errors: INVALID_ARGUMENT for anything but a JPEG.
class ExtractJpegShapeKernel : public OpKernel {
 public:
  explicit ExtractJpegShapeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const absl::string_view bytes, ReadContents(ctx.input(0)));
    ASSIGN_OR_RETURN(const std::unique_ptr<JpegReader> jpeg, JpegReader::Open(bytes, {}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape{3}));
    const int64_t shape[] = {jpeg->height(), jpeg->width(), jpeg->file_channels()};
    VisitIndexType(out->dtype(), [&]<typename T>() {
      for (int i = 0; i < 3; ++i) out->data<T>()[i] = static_cast<T>(shape[i]);
    });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ExtractJpegShape", kCpu, ExtractJpegShapeKernel);

}  // namespace
}  // namespace tessera
