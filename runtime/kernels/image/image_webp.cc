#include "runtime/kernels/image/image_webp.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>

namespace tessera {
namespace {

const uint8_t* Bytes(absl::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

absl::Status DamagedError() {
  return absl::InvalidArgumentError("the WebP image is damaged or ends early");
}

class StillReader final : public WebpReader {
 public:
  StillReader(absl::string_view bytes, const WebPBitstreamFeatures& features)
      : bytes_(bytes), features_(features) {}

  int64_t frames() const override { return 1; }
  int64_t height() const override { return features_.height; }
  int64_t width() const override { return features_.width; }
  int channels() const override { return features_.has_alpha ? 4 : 3; }
  absl::Status Read(int64_t count, uint8_t* pixels) override {
    if (count == 0) return absl::OkStatus();
    const auto decode = features_.has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
    const int stride = features_.width * channels();
    const size_t size = static_cast<size_t>(stride) * features_.height;
    return decode(Bytes(bytes_), bytes_.size(), pixels, size, stride) != nullptr ? absl::OkStatus()
                                                                                 : DamagedError();
  }

 private:
  const absl::string_view bytes_;
  const WebPBitstreamFeatures features_;
};

struct DeleteDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

// Frames may cover a part of the canvas only; the decoder lays them over one another.
class AnimationReader final : public WebpReader {
 public:
  bool Open(absl::string_view bytes, bool has_alpha) {
    channels_ = has_alpha ? 4 : 3;
    WebPAnimDecoderOptions options;
    if (!WebPAnimDecoderOptionsInit(&options)) return false;
    options.color_mode = MODE_RGBA;
    options.use_threads = 0;
    const WebPData data = {Bytes(bytes), bytes.size()};
    decoder_.reset(WebPAnimDecoderNew(&data, &options));
    return decoder_ != nullptr && WebPAnimDecoderGetInfo(decoder_.get(), &info_);
  }

  int64_t frames() const override { return info_.frame_count; }
  int64_t height() const override { return info_.canvas_height; }
  int64_t width() const override { return info_.canvas_width; }
  int channels() const override { return channels_; }
  absl::Status Read(int64_t count, uint8_t* pixels) override {
    const int64_t points = height() * width();
    for (int64_t i = 0; i < count; ++i) {
      uint8_t* canvas = nullptr;
      int timestamp = 0;
      if (!WebPAnimDecoderGetNext(decoder_.get(), &canvas, &timestamp)) return DamagedError();
      for (int64_t p = 0; p < points; ++p, pixels += channels_) {
        std::copy_n(canvas + 4 * p, channels_, pixels);
      }
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<WebPAnimDecoder, DeleteDecoder> decoder_;
  WebPAnimInfo info_ = {};
  int channels_ = 4;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WebpReader>> WebpReader::Open(absl::string_view bytes) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(Bytes(bytes), bytes.size(), &features) != VP8_STATUS_OK) {
    return absl::InvalidArgumentError("not a valid WebP header");
  }
  if (!features.has_animation) return std::make_unique<StillReader>(bytes, features);
  auto animation = std::make_unique<AnimationReader>();
  if (!animation->Open(bytes, features.has_alpha)) return DamagedError();
  return animation;
}

}  // namespace tessera
