// Strings in other codings of bytes: EncodeBase64, DecodeBase64, DecodeCompressed.
#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Applies code(in, &out) -> absl::Status to each string of input 0.
template <typename Code>
absl::Status ForEachString(KernelContext& ctx, Code code) {
  const auto in = ctx.input(0).flat<std::string>();
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
  auto out = output->flat<std::string>();
  for (size_t i = 0; i < in.size(); ++i) RETURN_IF_ERROR(code(in[i], &out[i]));
  return absl::OkStatus();
}

// The alphabet that is safe in URLs, with or without '=' at the end (RFC 4648, section 5).
class EncodeBase64Kernel : public OpKernel {
 public:
  explicit EncodeBase64Kernel(const KernelBuild& build) : pad_(build.attr<bool>("pad")) {}
  absl::Status Compute(KernelContext& ctx) override {
    return ForEachString(ctx, [&](const std::string& in, std::string* out) {
      *out = absl::WebSafeBase64Escape(in);
      if (pad_) out->append((4 - out->size() % 4) % 4, '=');
      return absl::OkStatus();
    });
  }

 private:
  const bool pad_;
};
REGISTER_KERNEL("EncodeBase64", kCpu, EncodeBase64Kernel);

class DecodeBase64Kernel : public OpKernel {
 public:
  explicit DecodeBase64Kernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    return ForEachString(ctx, [](const std::string& in, std::string* out) {
      absl::string_view text = in;
      // Padding, if any, makes the length a multiple of 4.
      if (text.size() % 4 == 0) {
        for (int n = 0; n < 2 && absl::EndsWith(text, "="); ++n) text.remove_suffix(1);
      }
      for (char c : text) {
        if (!absl::ascii_isalnum(c) && c != '-' && c != '_') {
          return absl::InvalidArgumentError(
              absl::StrCat("'", absl::CEscape(absl::string_view(&c, 1)),
                           "' is not a character of URL-safe base64"));
        }
      }
      if (text.size() % 4 == 1 || !absl::WebSafeBase64Unescape(text, out)) {
        // Bits beyond the last whole byte are ignored, which the library does not do.
        if (text.size() % 4 == 1) {
          return absl::InvalidArgumentError("a base64 string's length cannot be 1 modulo 4");
        }
        *out = DecodeLoosely(text);
      }
      return absl::OkStatus();
    });
  }

 private:
  static std::string DecodeLoosely(absl::string_view text) {
    std::string out;
    uint32_t bits = 0;
    int held = 0;
    for (char c : text) {
      const uint32_t value = c >= 'A' && c <= 'Z'   ? c - 'A'
                             : c >= 'a' && c <= 'z' ? c - 'a' + 26
                             : c >= '0' && c <= '9' ? c - '0' + 52
                             : c == '-'             ? 62
                                                    : 63;
      bits = bits << 6 | value;
      held += 6;
      if (held >= 8) {
        held -= 8;
        out.push_back(static_cast<char>(bits >> held));
      }
    }
    return out;
  }
};
REGISTER_KERNEL("DecodeBase64", kCpu, DecodeBase64Kernel);

// A single string may not unpack to more: a few bytes can stand for gigabytes.
constexpr size_t kMaxDecompressed = size_t{1} << 31;

// Errors: DATA_LOSS for damaged input; RESOURCE_EXHAUSTED for too much output.
absl::Status Inflate(const std::string& in, bool gzip, std::string* out) {
  z_stream stream = {};
  constexpr int kWindowBits = 15, kGzip = 16;
  if (inflateInit2(&stream, kWindowBits + (gzip ? kGzip : 0)) != Z_OK) {
    return absl::ResourceExhaustedError("zlib has no memory");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  out->resize(std::max<size_t>(4 * in.size(), 64));
  size_t size = 0;  // of what is unpacked
  absl::Status status;
  for (;;) {
    const size_t space = std::min<size_t>(out->size() - size, std::numeric_limits<uInt>::max());
    stream.next_out = reinterpret_cast<Bytef*>(out->data() + size);
    stream.avail_out = static_cast<uInt>(space);
    const int result = inflate(&stream, Z_NO_FLUSH);
    size += space - stream.avail_out;
    if (result == Z_STREAM_END) {
      // The next member of a file of several; TensorFlow ends at one without content.
      if (!gzip || stream.avail_in == 0 || stream.total_out == 0) break;
      inflateReset(&stream);
      continue;
    }
    if (result != Z_OK && result != Z_BUF_ERROR) {
      status = absl::DataLossError(
          absl::StrCat("cannot decompress: ", stream.msg ? stream.msg : "the data are damaged"));
      break;
    }
    if (stream.avail_out > 0) break;  // the input has ended
    if (size == out->size()) {
      if (size >= kMaxDecompressed) {
        status = absl::ResourceExhaustedError("a string unpacks to more than 2 GiB");
        break;
      }
      out->resize(2 * size);
    }
  }
  out->resize(size);
  inflateEnd(&stream);
  return status;
}

class DecodeCompressedKernel : public OpKernel {
 public:
  explicit DecodeCompressedKernel(const KernelBuild& build)
      : type_(build.attr<std::string>("compression_type")) {
    if (type_ != "" && type_ != "ZLIB" && type_ != "GZIP") {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("compression_type must be '', ZLIB or GZIP, is '", type_, "'")));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    if (type_.empty()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    return ForEachString(ctx, [&](const std::string& in, std::string* out) {
      return Inflate(in, type_ == "GZIP", out);
    });
  }

 private:
  const std::string type_;
};
REGISTER_KERNEL("DecodeCompressed", kCpu, DecodeCompressedKernel);

}  // namespace
}  // namespace tessera
