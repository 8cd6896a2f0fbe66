// Text in other encodings and as code points, by ICU: UnicodeTranscode, UnicodeDecode,
// UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeScript.
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/vector_output.h"
#include "unicode/uchar.h"
#include "unicode/ucnv.h"
#include "unicode/uscript.h"
#include "unicode/utf16.h"

namespace tessera {
namespace {

constexpr int32_t kReplacement = 0xfffd;

bool IsCodePoint(int32_t c) { return c >= 0 && c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000); }

// Reads code points of one encoding. Not thread-safe: each execution opens its own.
class Decoder {
 public:
  // Errors: INVALID_ARGUMENT for an encoding that ICU does not know.
  static absl::StatusOr<std::unique_ptr<Decoder>> Open(const std::string& encoding) {
    UErrorCode error = U_ZERO_ERROR;
    UConverter* const converter = ucnv_open(encoding.c_str(), &error);
    if (U_FAILURE(error)) {
      ucnv_close(converter);
      return absl::InvalidArgumentError(absl::StrCat("unknown input encoding '", encoding, "'"));
    }
    return std::unique_ptr<Decoder>(new Decoder(converter));
  }
  ~Decoder() { ucnv_close(converter_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Calls visit(code point, the byte it begins at, whether the bytes there were malformed).
  void ForEach(const std::string& text,
               absl::FunctionRef<void(int32_t c, int64_t at, bool malformed)> visit) {
    ucnv_resetToUnicode(converter_);
    const char* source = text.data();
    const char* const limit = source + text.size();
    while (source < limit) {
      const int64_t at = source - text.data();
      malformed_ = false;
      UErrorCode error = U_ZERO_ERROR;
      const UChar32 c = ucnv_getNextUChar(converter_, &source, limit, &error);
      if (error == U_INDEX_OUTOFBOUNDS_ERROR) return;  // a byte order mark alone
      if (U_FAILURE(error)) {
        visit(kReplacement, at, true);
        return;
      }
      visit(c, at, malformed_);
    }
  }

 private:
  explicit Decoder(UConverter* converter) : converter_(converter) {
    UErrorCode error = U_ZERO_ERROR;
    ucnv_setToUCallBack(converter_, &Decoder::OnMalformed, this, nullptr, nullptr, &error);
  }
  // Notes the event and lets U+FFFD take the place of the bytes.
  static void OnMalformed(const void* self, UConverterToUnicodeArgs* args, const char* bytes,
                          int32_t length, UConverterCallbackReason reason, UErrorCode* error) {
    if (reason > UCNV_IRREGULAR) return;  // reset, close or clone: no input is at fault
    static_cast<Decoder*>(const_cast<void*>(self))->malformed_ = true;
    UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, bytes, length, reason, error);
  }

  UConverter* const converter_;
  bool malformed_ = false;
};

// What the attributes say about malformed text.
class ErrorPolicy {
 public:
  explicit ErrorPolicy(const KernelBuild& build)
      : strict_(build.attr<std::string>("errors") == "strict"),
        ignore_(build.attr<std::string>("errors") == "ignore"),
        replace_controls_(build.has_attr("replace_control_characters") &&
                          build.attr<bool>("replace_control_characters")),
        // Decoding replaces controls even where it is strict; transcoding then refuses them.
        controls_are_errors_(build.op().name == "UnicodeTranscode"),
        replacement_(static_cast<int32_t>(build.attr<int64_t>("replacement_char"))) {
    if (!IsCodePoint(replacement_)) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("replacement_char ", replacement_, " is not a Unicode code point")));
    }
  }

  // Calls keep(c) with what c becomes, if anything. Errors: INVALID_ARGUMENT if the policy is
  // strict.
  template <typename Keep>
  absl::Status Apply(int32_t c, bool malformed, Keep keep) const {
    if (!malformed && !(replace_controls_ && c <= 0x1f)) {
      keep(c);
    } else if (strict_ && (malformed || controls_are_errors_)) {
      return absl::InvalidArgumentError("the text is malformed");
    } else if (!ignore_) {
      keep(replacement_);
    }
    return absl::OkStatus();
  }

 private:
  const bool strict_, ignore_, replace_controls_, controls_are_errors_;
  const int32_t replacement_;
};

enum class Encoding { kUtf8, kUtf16Be, kUtf32Be };
Encoding OutputEncoding(const KernelBuild& build) {
  const std::string name = build.attr<std::string>("output_encoding");
  return name == "UTF-8"       ? Encoding::kUtf8
         : name == "UTF-16-BE" ? Encoding::kUtf16Be
                               : Encoding::kUtf32Be;
}

void AppendBigEndian(uint32_t value, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

// Requires IsCodePoint(c), or a surrogate that is not to become UTF-8.
void AppendCodePoint(int32_t c, Encoding encoding, std::string* out) {
  const uint32_t u = static_cast<uint32_t>(c);
  if (encoding == Encoding::kUtf32Be) {
    AppendBigEndian(u, 4, out);
  } else if (encoding == Encoding::kUtf16Be) {
    if (u < 0x10000) {
      AppendBigEndian(u, 2, out);
    } else {
      AppendBigEndian(0xd800 + ((u - 0x10000) >> 10), 2, out);
      AppendBigEndian(0xdc00 + ((u - 0x10000) & 0x3ff), 2, out);
    }
  } else if (u < 0x80) {
    out->push_back(static_cast<char>(u));
  } else {
    const int rest = u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;  // bytes after the first
    constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
    out->push_back(static_cast<char>(kLead[rest] | u >> (6 * rest)));
    for (int i = rest - 1; i >= 0; --i) {
      out->push_back(static_cast<char>(0x80 | ((u >> (6 * i)) & 0x3f)));
    }
  }
}

// Writes code points that come one by one. Some encodings, such as UTF-7, may hold surrogates: a
// pair is the code point that it stands for, and one that is alone has no form in UTF-8.
class CodePointWriter {
 public:
  CodePointWriter(Encoding encoding, std::string* out) : encoding_(encoding), out_(out) {}

  void Write(int32_t c) {
    if (high_ != 0) {
      const int32_t high = std::exchange(high_, 0);
      if (U16_IS_TRAIL(c)) return AppendCodePoint(U16_GET_SUPPLEMENTARY(high, c), encoding_, out_);
      AppendAlone(high);
    }
    if (!U_IS_SURROGATE(c)) {
      AppendCodePoint(c, encoding_, out_);
    } else if (U16_IS_SURROGATE_LEAD(c)) {
      high_ = c;
    } else {
      AppendAlone(c);
    }
  }
  // To be called at the end of the text.
  void Finish() {
    if (high_ != 0) AppendAlone(std::exchange(high_, 0));
  }

 private:
  void AppendAlone(int32_t surrogate) {
    AppendCodePoint(encoding_ == Encoding::kUtf8 ? kReplacement : surrogate, encoding_, out_);
  }

  const Encoding encoding_;
  std::string* const out_;
  int32_t high_ = 0;  // the first surrogate of a pair; 0: none
};

class UnicodeTranscodeKernel : public OpKernel {
 public:
  explicit UnicodeTranscodeKernel(const KernelBuild& build)
      : input_encoding_(build.attr<std::string>("input_encoding")),
        output_encoding_(OutputEncoding(build)),
        policy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto decoder, Decoder::Open(input_encoding_));
    const auto in = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (size_t i = 0; i < in.size(); ++i) {
      CodePointWriter writer(output_encoding_, &output->flat<std::string>()[i]);
      absl::Status status;
      decoder->ForEach(in[i], [&](int32_t c, int64_t, bool malformed) {
        status.Update(policy_.Apply(c, malformed, [&](int32_t kept) { writer.Write(kept); }));
      });
      writer.Finish();
      RETURN_IF_ERROR(Annotate(status, absl::StrCat("string ", i, ": ")));
    }
    return absl::OkStatus();
  }

 private:
  const std::string input_encoding_;
  const Encoding output_encoding_;
  const ErrorPolicy policy_;
};
REGISTER_KERNEL("UnicodeTranscode", kCpu, UnicodeTranscodeKernel);

// The code points of all strings, one string a row, and perhaps the byte each begins at.
class UnicodeDecodeKernel : public OpKernel {
 public:
  explicit UnicodeDecodeKernel(const KernelBuild& build)
      : input_encoding_(build.attr<std::string>("input_encoding")), policy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto decoder, Decoder::Open(input_encoding_));
    std::vector<int64_t> splits = {0}, starts;
    std::vector<int32_t> code_points;
    for (const std::string& text : ctx.input(0).flat<std::string>()) {
      absl::Status status;
      decoder->ForEach(text, [&](int32_t c, int64_t at, bool malformed) {
        status.Update(policy_.Apply(c, malformed, [&](int32_t kept) {
          code_points.push_back(kept);
          starts.push_back(at);
        }));
      });
      RETURN_IF_ERROR(Annotate(status, absl::StrCat("string ", splits.size() - 1, ": ")));
      splits.push_back(static_cast<int64_t>(code_points.size()));
    }
    ASSIGN_OR_RETURN(Tensor* const out_splits,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(splits.size())}));
    RETURN_IF_ERROR(WriteRowSplits(splits, out_splits));
    RETURN_IF_ERROR(SetVectorOutput(ctx, 1, absl::MakeConstSpan(code_points)));
    if (ctx.num_outputs() == 2) return absl::OkStatus();
    return SetVectorOutput(ctx, 2, absl::MakeConstSpan(starts));
  }

 private:
  const std::string input_encoding_;
  const ErrorPolicy policy_;
};
REGISTER_KERNEL("UnicodeDecode", kCpu, UnicodeDecodeKernel);
REGISTER_KERNEL("UnicodeDecodeWithOffsets", kCpu, UnicodeDecodeKernel);

// Rows of code points as strings.
class UnicodeEncodeKernel : public OpKernel {
 public:
  explicit UnicodeEncodeKernel(const KernelBuild& build)
      : output_encoding_(OutputEncoding(build)), policy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    if (values.rank() != 1) return absl::InvalidArgumentError("input_values must be a vector");
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(1), values.dim(0), "input_splits"));
    const int64_t rows = static_cast<int64_t>(splits.size()) - 1;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows}));
    for (int64_t row = 0; row < rows; ++row) {
      std::string& out = output->flat<std::string>()[row];
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        const int32_t c = values.data<int32_t>()[i];
        RETURN_IF_ERROR(Annotate(
            policy_.Apply(c, !IsCodePoint(c),
                          [&](int32_t kept) { AppendCodePoint(kept, output_encoding_, &out); }),
            absl::StrCat("code point ", i, " = ", c, ": ")));
      }
    }
    return absl::OkStatus();
  }

 private:
  const Encoding output_encoding_;
  const ErrorPolicy policy_;
};
REGISTER_KERNEL("UnicodeEncode", kCpu, UnicodeEncodeKernel);

// ICU's number of the script a code point belongs to; -1 for what is none. Code points that are
// younger than TensorFlow's ICU, which knows Unicode 13, belong to an unknown script.
class UnicodeScriptKernel : public OpKernel {
 public:
  static constexpr uint8_t kKnownAge = 13;
  explicit UnicodeScriptKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const auto in = ctx.input(0).flat<int32_t>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<int32_t>();
    for (size_t i = 0; i < in.size(); ++i) {
      UErrorCode error = U_ZERO_ERROR;
      const UScriptCode script = uscript_getScript(in[i], &error);
      UVersionInfo age;
      u_charAge(in[i], age);
      out[i] = U_FAILURE(error)     ? USCRIPT_INVALID_CODE
               : age[0] > kKnownAge ? USCRIPT_UNKNOWN
                                    : script;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("UnicodeScript", kCpu, UnicodeScriptKernel);

}  // namespace
}  // namespace tessera
