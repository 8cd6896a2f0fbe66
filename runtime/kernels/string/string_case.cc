// Strings changed or measured one by one: StringLower, StringUpper, StringStrip, StringLength.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/string/utf8.h"
#include "unicode/locid.h"
#include "unicode/unistr.h"

namespace tessera {
namespace {

// Maps the letters of ASCII. Without branches, so that the loop is vectorised.
std::string MapAscii(const std::string& text, bool lower) {
  const uint8_t first = lower ? 'A' : 'a';
  std::string mapped(text.size(), '\0');
  const char* const from = text.data();
  char* const to = mapped.data();
  for (size_t i = 0, size = text.size(); i < size; ++i) {
    const auto c = static_cast<uint8_t>(from[i]);
    const bool changes = static_cast<uint8_t>(c - first) < 26;
    to[i] = static_cast<char>(c ^ (changes ? 0x20 : 0));
  }
  return mapped;
}

bool IsAscii(const std::string& text) {
  uint8_t all = 0;
  for (const char c : text) all |= static_cast<uint8_t>(c);
  return all < 128;
}

// Maps a text in UTF-8, which ends at the first NUL, as in TensorFlow. Bytes that are not UTF-8
// become U+FFFD.
std::string MapCase(const std::string& text, bool lower) {
  const size_t size = std::min(text.find('\0'), text.size());
  if (size < text.size()) return MapCase(text.substr(0, size), lower);
  if (IsAscii(text)) return MapAscii(text, lower);
  icu::UnicodeString mapped = icu::UnicodeString::fromUTF8(text);
  if (lower) {
    mapped.toLower(icu::Locale::getRoot());
  } else {
    mapped.toUpper(icu::Locale::getRoot());
  }
  std::string result;
  mapped.toUTF8String(result);
  return result;
}

class StringCaseKernel : public OpKernel {
 public:
  explicit StringCaseKernel(const KernelBuild& build) : lower_(build.op().name == "StringLower") {
    const std::string encoding = build.attr<std::string>("encoding");
    utf8_ = encoding == "utf-8";
    if (!utf8_ && !encoding.empty()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "encoding must be 'utf-8' or '' (ASCII letters alone), is '", encoding, "'")));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const auto in = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<std::string>();
    const double nanoseconds = utf8_ ? 500 : 50;
    ctx.ParallelFor(output->num_elements(), nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (utf8_) {
          out[i] = MapCase(in[i], lower_);
        } else {
          out[i] = MapAscii(in[i], lower_);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const bool lower_;
  bool utf8_;
};
REGISTER_KERNEL("StringLower", kCpu, StringCaseKernel);
REGISTER_KERNEL("StringUpper", kCpu, StringCaseKernel);

// Without the ASCII white space at both ends.
class StringStripKernel : public OpKernel {
 public:
  explicit StringStripKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const auto in = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<std::string>();
    ctx.ParallelFor(output->num_elements(), 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const absl::string_view stripped = absl::StripAsciiWhitespace(in[i]);
        out[i].assign(stripped.data(), stripped.size());
      }
    });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StringStrip", kCpu, StringStripKernel);

// In bytes, or in characters of UTF-8.
class StringLengthKernel : public OpKernel {
 public:
  explicit StringLengthKernel(const KernelBuild& build)
      : utf8_(build.attr<std::string>("unit") == "UTF8_CHAR") {}
  absl::Status Compute(KernelContext& ctx) override {
    const auto in = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<int32_t>();
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<int32_t>(utf8_ ? CountUtf8(in[i]) : static_cast<int64_t>(in[i].size()));
    }
    return absl::OkStatus();
  }

 private:
  const bool utf8_;
};
REGISTER_KERNEL("StringLength", kCpu, StringLengthKernel);

}  // namespace
}  // namespace tessera
