// Strings changed or measured one by one: StringLower, StringUpper, StringStrip, StringLength.
#include "absl/strings/ascii.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/utf8.h"
#include "unicode/ucasemap.h"

namespace tessera {
namespace {

// Owns ICU's case mapper of the root locale; its functions are thread-safe.
class CaseMapper {
 public:
  CaseMapper() {
    UErrorCode error = U_ZERO_ERROR;
    map_ = ucasemap_open("", 0, &error);
  }
  ~CaseMapper() { ucasemap_close(map_); }
  CaseMapper(const CaseMapper&) = delete;
  CaseMapper& operator=(const CaseMapper&) = delete;

  // Bytes that are not UTF-8 become U+FFFD. Errors: INTERNAL if ICU fails.
  absl::StatusOr<std::string> Map(const std::string& text, bool lower) const {
    const auto convert = lower ? ucasemap_utf8ToLower : ucasemap_utf8ToUpper;
    std::string mapped(text.size() + 16, '\0');
    for (;;) {
      UErrorCode error = U_ZERO_ERROR;
      const int32_t size = convert(map_, mapped.data(), static_cast<int32_t>(mapped.size()),
                                   text.data(), static_cast<int32_t>(text.size()), &error);
      const bool too_small = error == U_BUFFER_OVERFLOW_ERROR;
      if (!too_small && U_FAILURE(error)) return absl::InternalError(u_errorName(error));
      mapped.resize(size);
      if (!too_small) return mapped;
    }
  }

 private:
  UCaseMap* map_ = nullptr;
};

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
    for (size_t i = 0; i < in.size(); ++i) {
      if (utf8_) {
        ASSIGN_OR_RETURN(out[i], mapper_.Map(in[i], lower_));
      } else {
        out[i] = lower_ ? absl::AsciiStrToLower(in[i]) : absl::AsciiStrToUpper(in[i]);
      }
    }
    return absl::OkStatus();
  }

 private:
  const bool lower_;
  bool utf8_;
  CaseMapper mapper_;
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
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = std::string(absl::StripAsciiWhitespace(in[i]));
    }
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
