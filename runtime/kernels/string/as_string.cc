// Numbers as text and back: AsString, StringFormat, StringToNumber.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/tensor_summary.h"

namespace tessera {
namespace {

template <typename... Args>
std::string Printf(const std::string& format, Args... args) {
  char buffer[64];
  const int size = std::snprintf(buffer, sizeof(buffer), format.c_str(), args...);
  if (size < static_cast<int>(sizeof(buffer))) return std::string(buffer, std::max(size, 0));
  std::string text(size, '\0');  // a large number in fixed notation
  std::snprintf(text.data(), text.size() + 1, format.c_str(), args...);
  return text;
}

class AsStringKernel : public OpKernel {
 public:
  explicit AsStringKernel(const KernelBuild& build) {
    const DType dtype = build.input_types()[0];
    const int64_t precision = build.attr<int64_t>("precision");
    const bool scientific = build.attr<bool>("scientific");
    const bool shortest = build.attr<bool>("shortest");
    const int64_t width = build.attr<int64_t>("width");
    const std::string fill = build.attr<std::string>("fill");
    const bool floating = IsFloating(dtype) || IsComplex(dtype);
    auto fail = [&](absl::string_view message) { build.Fail(absl::InvalidArgumentError(message)); };
    if (fill.size() > 1 ||
        (!fill.empty() && std::string(" +-0#").find(fill) == std::string::npos)) {
      fail(absl::StrCat("fill must be one of ' ', '+', '-', '0' and '#', is '", fill, "'"));
    }
    if (!floating && (precision >= 0 || scientific || shortest)) {
      fail(absl::StrCat("precision, scientific and shortest do not apply to ", DTypeName(dtype)));
    }
    if (scientific && shortest) fail("scientific and shortest exclude each other");
    constexpr int64_t kMost = 1 << 20;
    if (std::max(width, precision) > kMost) {
      fail(absl::StrCat("width and precision must not be above ", kMost, ", they are ", width,
                        " and ", precision));
    }
    std::string flags = absl::StrCat("%", fill);
    if (width > -1) absl::StrAppend(&flags, width);
    if (precision > -1) absl::StrAppend(&flags, ".", precision);
    signed_format_ = flags + "lld";
    unsigned_format_ = flags + "llu";
    real_format_ = flags + (scientific ? "e" : shortest ? "g" : "f");
    is_plain_ = flags == "%";
    plain_format_ = scientific ? std::chars_format::scientific
                    : shortest ? std::chars_format::general
                               : std::chars_format::fixed;
    width_ = width;
    left_ = fill == "-";
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    auto out = output->flat<std::string>();
    if (input.dtype() == DType::kBool) {
      const auto in = input.flat<bool>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = in[i] ? "true" : "false";
      return absl::OkStatus();
    }
    if (input.dtype() == DType::kString) {
      const auto in = input.flat<std::string>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = Padded(in[i]);
      return absl::OkStatus();
    }
    return VisitNumericType(input.dtype(), [&]<typename T>() {
      const auto in = input.flat<T>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = Format(in[i]);
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  std::string Format(const T& value) const {
    if constexpr (std::is_integral_v<T>) {
      if (is_plain_) return absl::StrCat(+value);
    }
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return Printf(signed_format_, static_cast<long long>(value));
    } else if constexpr (std::is_integral_v<T>) {
      return Printf(unsigned_format_, static_cast<unsigned long long>(value));
    } else {
      return FormatReal(static_cast<double>(value));
    }
  }
  template <typename T>
  std::string Format(const std::complex<T>& value) const {
    return absl::StrCat("(", Format(value.real()), ",", Format(value.imag()), ")");
  }

  std::string FormatReal(double value) const {
    char buffer[64];
    if (is_plain_ && std::abs(value) < 1e15) {
      const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, plain_format_, 6);
      if (end.ec == std::errc()) return std::string(buffer, end.ptr);
    }
    return Printf(real_format_, value);
  }

  // What printf's %s does, for strings that may hold any byte.
  std::string Padded(const std::string& text) const {
    const std::string padding(std::max<int64_t>(width_ - static_cast<int64_t>(text.size()), 0),
                              ' ');
    return left_ ? text + padding : padding + text;
  }

  std::string signed_format_, unsigned_format_, real_format_;  // of printf
  bool is_plain_ = false;  // without flags, width and precision: to_chars() writes the same
  std::chars_format plain_format_ = std::chars_format::fixed;
  int64_t width_ = 0;
  bool left_ = false;
};
REGISTER_KERNEL("AsString", kCpu, AsStringKernel);

// Puts a summary of each input in the place of a placeholder of the template.
class StringFormatKernel : public OpKernel {
 public:
  explicit StringFormatKernel(const KernelBuild& build)
      : pieces_(absl::StrSplit(build.attr<std::string>("template"),
                               build.attr<std::string>("placeholder"))),
        summarize_(build.attr<int64_t>("summarize")) {
    if (static_cast<int>(pieces_.size()) - 1 != build.num_inputs()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("the template has ", pieces_.size() - 1,
                                                         " placeholders for ", build.num_inputs(),
                                                         " inputs")));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    std::string text = pieces_[0];
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      absl::StrAppend(&text, SummarizeTensor(ctx.input(i), summarize_), pieces_[i + 1]);
    }
    return SetScalarOutput(ctx, 0, std::move(text));
  }

 private:
  const std::vector<std::string> pieces_;
  const int64_t summarize_;
};
REGISTER_KERNEL("StringFormat", kCpu, StringFormatKernel);

// True for a number without spaces, signs of plus and names, which is all that from_chars() reads.
template <typename T>
bool ParsePlain(absl::string_view text, T* value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), *value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && std::isfinite(*value);
}
bool Parse(absl::string_view text, float* value) {
  return ParsePlain(text, value) || absl::SimpleAtof(text, value);
}
bool Parse(absl::string_view text, double* value) {
  return ParsePlain(text, value) || absl::SimpleAtod(text, value);
}
template <typename T>
bool Parse(absl::string_view text, T* value) {
  return absl::SimpleAtoi(text, value);
}

// Errors: INVALID_ARGUMENT with the first string that is no number of the output's type.
class StringToNumberKernel : public OpKernel {
 public:
  explicit StringToNumberKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    switch (ctx.output_type(0)) {
      case DType::kFloat:
        return Run<float>(ctx);
      case DType::kDouble:
        return Run<double>(ctx);
      case DType::kInt32:
        return Run<int32_t>(ctx);
      case DType::kUint32:
        return Run<uint32_t>(ctx);
      case DType::kUint64:
        return Run<uint64_t>(ctx);
      default:
        return Run<int64_t>(ctx);
    }
  }

 private:
  template <typename T>
  static absl::Status Run(KernelContext& ctx) {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    const auto in = input.flat<std::string>();
    auto out = output->flat<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      if (!Parse(in[i], &out[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat("string ", i, ", '", in[i], "', is not a valid ", DTypeName(DTypeOf<T>)));
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StringToNumber", kCpu, StringToNumberKernel);

}  // namespace
}  // namespace tessera
