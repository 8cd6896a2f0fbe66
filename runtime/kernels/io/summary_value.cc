#include "runtime/kernels/io/summary_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/png_writer.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/wav_writer.h"
#include "runtime/summary/histogram.h"
#include "runtime/summary/summary_values.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace tessera {
namespace {

// The tag of output i of at most `max`.
std::string TagOf(const std::string& tag, absl::string_view kind, int64_t i, int64_t max) {
  return max == 1 ? absl::StrCat(tag, "/", kind) : absl::StrCat(tag, "/", kind, "/", i);
}

template <typename T>
bool IsFinite(absl::Span<const T> pixel) {
  return std::all_of(pixel.begin(), pixel.end(),
                     [](T x) { return std::isfinite(static_cast<double>(x)); });
}

// Scales one image to bytes.
template <typename T>
void ScalePixels(absl::Span<const T> image, size_t channels, absl::Span<const uint8_t> bad_color,
                 uint8_t* out) {
  const T kInfinity = std::numeric_limits<T>::infinity();
  T least = kInfinity, largest = -kInfinity;
  for (size_t i = 0; i < image.size(); i += channels) {
    const absl::Span<const T> pixel = image.subspan(i, channels);
    if (!IsFinite(pixel)) continue;
    least = std::min(least, *std::min_element(pixel.begin(), pixel.end()));
    largest = std::max(largest, *std::max_element(pixel.begin(), pixel.end()));
  }
  // Darker ones are black: their quotients would overflow.
  const T kDark = static_cast<T>(1e-6);
  const bool has_negative = least < T(0);
  const T magnitude = has_negative ? std::max(-least, largest) : largest;
  // A quotient of floats for doubles, too.
  const float range = has_negative ? 127.0f : 255.0f;
  const T scale = magnitude < kDark ? T(0) : static_cast<T>(range / static_cast<float>(magnitude));
  const T offset = static_cast<T>(has_negative ? 128.0f : 0.0f);
  for (size_t i = 0; i < image.size(); i += channels) {
    const absl::Span<const T> pixel = image.subspan(i, channels);
    if (!IsFinite(pixel)) {
      std::copy_n(bad_color.begin(), channels, out + i);
      continue;
    }
    for (size_t c = 0; c < channels; ++c) {
      out[i + c] = static_cast<uint8_t>(pixel[c] * scale + offset);
    }
  }
}

template <typename T>
absl::Status AddImages(const std::string& tag, const Tensor& images, int64_t max_images,
                       absl::Span<const uint8_t> bad_color, tensorflow::Summary* summary) {
  PngPixels pixels{
      .width = images.dim(2), .height = images.dim(1), .channels = static_cast<int>(images.dim(3))};
  const auto size = static_cast<size_t>(pixels.height * pixels.width * pixels.channels);
  std::vector<uint8_t> scaled(std::is_same_v<T, uint8_t> ? 0 : size);
  for (int64_t i = 0; i < std::min(max_images, images.dim(0)); ++i) {
    const auto image = images.flat<T>().subspan(static_cast<size_t>(i) * size, size);
    if constexpr (std::is_same_v<T, uint8_t>) {
      pixels.data = image.data();
    } else {
      ScalePixels<T>(image, static_cast<size_t>(pixels.channels), bad_color, scaled.data());
      pixels.data = scaled.data();
    }
    ASSIGN_OR_RETURN(std::string png, WritePng(pixels, -1));
    AddImage(TagOf(tag, "image", i, max_images), std::move(png), static_cast<int>(pixels.height),
             static_cast<int>(pixels.width), pixels.channels, summary);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddScalarValue(const std::string& tag, const Tensor& number,
                            tensorflow::Summary* summary) {
  if (number.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the value of '", tag, "' must be a scalar, has shape ", number.shape().ToString()));
  }
  return VisitRealType(number.dtype(), [&]<typename T>() {
    auto* const value = summary->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(number.data<T>()[0]));
    return absl::OkStatus();
  });
}

absl::Status AddHistogramValue(const std::string& tag, const std::string& name,
                               const Tensor& values, tensorflow::Summary* summary) {
  SummaryHistogram histogram;
  const auto add = [&](auto elements) -> absl::Status {
    for (const auto element : elements) {
      const auto x = static_cast<double>(element);
      if (std::isnan(x)) {
        return absl::InvalidArgumentError(absl::StrCat("Nan in summary histogram for: ", name));
      }
      if (std::isinf(x)) {
        return absl::InvalidArgumentError(absl::StrCat("Infinity in Histogram for: ", name));
      }
      histogram.Add(x);
    }
    return absl::OkStatus();
  };
  if (values.dtype() == DType::kBool) {
    RETURN_IF_ERROR(add(values.flat<bool>()));
  } else {
    RETURN_IF_ERROR(
        VisitRealType(values.dtype(), [&]<typename T>() { return add(values.flat<T>()); }));
  }
  auto* const value = summary->add_value();
  value->set_tag(tag);
  histogram.ToProto(value->mutable_histo());
  return absl::OkStatus();
}

absl::Status AddImageValues(const std::string& tag, const Tensor& images, int64_t max_images,
                            absl::Span<const uint8_t> bad_color, tensorflow::Summary* summary) {
  const int64_t channels = images.rank() == 4 ? images.dim(3) : 0;
  if (channels != 1 && channels != 3 && channels != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Tensor must be 4-D with last dim 1, 3, or 4, not ", images.shape().ToString()));
  }
  if (images.dtype() != DType::kUint8 && static_cast<int64_t>(bad_color.size()) < channels) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected depth <= bad_color.size, got depth = ", channels,
                     ", bad_color.size = ", bad_color.size()));
  }
  switch (images.dtype()) {
    case DType::kUint8:
      return AddImages<uint8_t>(tag, images, max_images, bad_color, summary);
    case DType::kHalf:
      return AddImages<Eigen::half>(tag, images, max_images, bad_color, summary);
    case DType::kFloat:
      return AddImages<float>(tag, images, max_images, bad_color, summary);
    case DType::kDouble:
      return AddImages<double>(tag, images, max_images, bad_color, summary);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("images of ", DTypeName(images.dtype()), " cannot be shown"));
  }
}

absl::Status AddAudioValues(const std::string& tag, const Tensor& sounds, float rate,
                            int64_t max_outputs, tensorflow::Summary* summary) {
  if (sounds.rank() != 2 && sounds.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("Tensor must be 3-D or 2-D, got: ", sounds.shape().ToString()));
  }
  // NaN is refused, too.
  if (!(rate > 0 && rate < static_cast<float>(std::numeric_limits<uint32_t>::max()))) {
    return absl::InvalidArgumentError(absl::StrCat("sample_rate must be positive, is ", rate));
  }
  const int64_t frames = sounds.dim(1);
  const int64_t channels = sounds.rank() == 3 ? sounds.dim(2) : 1;
  const auto size = static_cast<size_t>(frames * channels);
  for (int64_t i = 0; i < std::min(max_outputs, sounds.dim(0)); ++i) {
    auto* const value = summary->add_value();
    value->set_tag(TagOf(tag, "audio", i, max_outputs));
    tensorflow::Summary::Audio* const entry = value->mutable_audio();
    entry->set_sample_rate(rate);
    entry->set_num_channels(channels);
    entry->set_length_frames(frames);
    entry->set_content_type("audio/wav");
    ASSIGN_OR_RETURN(*entry->mutable_encoded_audio_string(),
                     WriteWav(sounds.flat<float>().subspan(static_cast<size_t>(i) * size, size),
                              channels, static_cast<uint32_t>(rate)));
  }
  return absl::OkStatus();
}

}  // namespace tessera
