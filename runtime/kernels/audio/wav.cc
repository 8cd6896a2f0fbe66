// Sound files: DecodeWav and EncodeWav, 16-bit PCM in RIFF (IBM and Microsoft, 1991).
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/wav_writer.h"

namespace tessera {
namespace {

// Reads little-endian integers and chunks; every read checks that the bytes are there.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : rest_(bytes) {}

  absl::StatusOr<absl::string_view> Take(size_t count) {
    if (count > rest_.size()) return absl::InvalidArgumentError("the WAV data ends early");
    const absl::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  absl::StatusOr<int64_t> Integer(int bytes) {
    ASSIGN_OR_RETURN(const absl::string_view taken, Take(bytes));
    int64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(taken[i]);
    return value;
  }
  absl::Status Expect(absl::string_view id) {
    ASSIGN_OR_RETURN(const absl::string_view found, Take(id.size()));
    if (found == id) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("no WAV data: '", id, "' is missing"));
  }
  // Passes over `count` bytes, or over all that are left if these are fewer.
  void Skip(size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }
  size_t size() const { return rest_.size(); }

 private:
  absl::string_view rest_;
};

struct Sound {
  int64_t channels = 0, rate = 0;
  absl::string_view samples;  // 16 bits each, one a channel in turn

  int64_t length() const { return static_cast<int64_t>(samples.size()) / (2 * channels); }
  float At(int64_t i, int64_t channel) const {
    const size_t at = static_cast<size_t>(i * channels + channel) * 2;
    const auto bits = static_cast<uint16_t>(static_cast<uint8_t>(samples[at]) |
                                            static_cast<uint8_t>(samples[at + 1]) << 8);
    return static_cast<float>(static_cast<int16_t>(bits)) / kWavFullScale;
  }
};

// Reads what TensorFlow reads: bytes behind the samples must be chunks too, and the samples come
// once. Errors: INVALID_ARGUMENT.
absl::StatusOr<Sound> ParseWav(absl::string_view bytes) {
  ByteReader reader(bytes);
  RETURN_IF_ERROR(reader.Expect("RIFF"));
  RETURN_IF_ERROR(reader.Integer(4).status());  // the file's size: wrong in files of streams
  RETURN_IF_ERROR(reader.Expect("WAVE"));
  RETURN_IF_ERROR(reader.Expect("fmt "));
  ASSIGN_OR_RETURN(const int64_t format_size, reader.Integer(4));
  if (format_size != 16 && format_size != 18) {
    return absl::InvalidArgumentError(
        absl::StrCat("a WAV format has 16 or 18 bytes, not ", format_size));
  }
  Sound sound;
  ASSIGN_OR_RETURN(const int64_t format, reader.Integer(2));
  ASSIGN_OR_RETURN(sound.channels, reader.Integer(2));
  ASSIGN_OR_RETURN(sound.rate, reader.Integer(4));
  ASSIGN_OR_RETURN(const int64_t bytes_per_second, reader.Integer(4));
  ASSIGN_OR_RETURN(const int64_t bytes_per_frame, reader.Integer(2));
  ASSIGN_OR_RETURN(const int64_t bits, reader.Integer(2));
  if (format != kWavPcm || bits != 16 || sound.channels < 1 ||
      bytes_per_frame != 2 * sound.channels || bytes_per_second != bytes_per_frame * sound.rate) {
    return absl::InvalidArgumentError(absl::StrCat("only 16-bit PCM is read, not format ", format,
                                                   " of ", bits, " bits in ", sound.channels,
                                                   " channels"));
  }
  RETURN_IF_ERROR(reader.Take(format_size - 16).status());
  bool has_data = false;
  while (reader.size() > 0) {
    ASSIGN_OR_RETURN(const absl::string_view id, reader.Take(4));
    ASSIGN_OR_RETURN(const int64_t size, reader.Integer(4));
    if (size > INT32_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("a WAV chunk of ", size, " bytes is too large"));
    }
    if (id != "data") {
      // Only the samples must be complete.
      reader.Skip(size);
      continue;
    }
    if (has_data) return absl::InvalidArgumentError("the WAV data has samples twice");
    has_data = true;
    // The chunk ends behind its last complete frame. Bytes that follow begin another chunk.
    ASSIGN_OR_RETURN(sound.samples, reader.Take(size - size % bytes_per_frame));
  }
  if (!has_data) return absl::InvalidArgumentError("the WAV data has no samples");
  return sound;
}

// Outputs: sound [samples, channels] in [-1, 1), and samples a second. More channels than there are
// repeat the last; more samples are silent.
// Errors: INVALID_ARGUMENT for anything but 16-bit PCM.
class DecodeWavKernel : public OpKernel {
 public:
  explicit DecodeWavKernel(const KernelBuild& build)
      : channels_(build.attr<int64_t>("desired_channels")),
        samples_(build.attr<int64_t>("desired_samples")) {}

  absl::Status Compute(KernelContext& ctx) override {
    if (!ctx.input(0).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'contents' must be a scalar, has shape ", ctx.input(0).shape().ToString()));
    }
    const std::string& contents = ctx.input(0).scalar<std::string>();
    ASSIGN_OR_RETURN(const Sound sound, ParseWav(contents));
    const int64_t channels = channels_ == -1 ? sound.channels : channels_;
    const int64_t length = samples_ == -1 ? sound.length() : samples_;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({length, channels}));
    ASSIGN_OR_RETURN(Tensor * audio, ctx.AllocateOutput(0, shape));
    float* to = audio->data<float>();
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        *to++ = i < sound.length() ? sound.At(i, std::min(c, sound.channels - 1)) : 0;
      }
    }
    return SetScalarOutput<int32_t>(ctx, 1, static_cast<int32_t>(sound.rate));
  }

 private:
  const int64_t channels_, samples_;
};
REGISTER_KERNEL("DecodeWav", kCpu, DecodeWavKernel);

// Errors: INVALID_ARGUMENT unless the sound is [samples, channels], not empty and below 4 GiB.
class EncodeWavKernel : public OpKernel {
 public:
  explicit EncodeWavKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& audio = ctx.input(0);
    if (!audio.shape().IsMatrix()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sound must be [samples, channels], has shape ", audio.shape().ToString()));
    }
    if (!ctx.input(1).shape().IsScalar() || ctx.input(1).scalar<int32_t>() <= 0) {
      return absl::InvalidArgumentError("'sample_rate' must be a positive scalar");
    }
    ASSIGN_OR_RETURN(std::string file,
                     WriteWav(audio.flat<float>(), audio.dim(1),
                              static_cast<uint32_t>(ctx.input(1).scalar<int32_t>())));
    return SetScalarOutput(ctx, 0, std::move(file));
  }
};
REGISTER_KERNEL("EncodeWav", kCpu, EncodeWavKernel);

}  // namespace
}  // namespace tessera
