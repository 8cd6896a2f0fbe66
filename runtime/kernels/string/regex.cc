// Regular expressions over strings, by RE2.
#include <memory>
#include <optional>

#include "absl/synchronization/mutex.h"
#include "re2/re2.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/string/simple_pattern.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT with RE2's reason.
absl::StatusOr<std::shared_ptr<const RE2>> CompileRegex(const std::string& pattern) {
  auto regex = std::make_shared<const RE2>(pattern, RE2::Quiet);
  if (regex->ok()) return regex;
  return absl::InvalidArgumentError(
      absl::StrCat("invalid regular expression '", pattern, "': ", regex->error()));
}

// The regular expression a kernel uses: from an attribute, compiled once, or from an input,
// compiled again only when it changes.
class RegexSource {
 public:
  RegexSource(const KernelBuild& build, bool from_attribute) {
    if (!from_attribute) return;
    pattern_ = build.attr<std::string>("pattern");
    absl::StatusOr<std::shared_ptr<const RE2>> regex = CompileRegex(pattern_);
    if (regex.ok()) {
      regex_ = *std::move(regex);
    } else {
      build.Fail(regex.status());
    }
    fixed_ = true;
  }

  absl::StatusOr<std::shared_ptr<const RE2>> Get(const KernelContext& ctx) {
    if (fixed_) return regex_;
    const Tensor& pattern = ctx.input(1);
    if (pattern.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("pattern must be a scalar, has shape ", pattern.shape().ToString()));
    }
    absl::MutexLock lock(&mu_);
    if (!regex_ || pattern_ != pattern.scalar<std::string>()) {
      ASSIGN_OR_RETURN(regex_, CompileRegex(pattern.scalar<std::string>()));
      pattern_ = pattern.scalar<std::string>();
    }
    return regex_;
  }

 private:
  bool fixed_ = false;
  absl::Mutex mu_;
  std::string pattern_;
  std::shared_ptr<const RE2> regex_;
};

// Whether each string as a whole matches.
class RegexFullMatchKernel : public OpKernel {
 public:
  explicit RegexFullMatchKernel(const KernelBuild& build)
      : source_(build, build.op().name == "StaticRegexFullMatch") {
    if (build.has_attr("pattern"))
      simple_ = SimplePattern::Parse(build.attr<std::string>("pattern"));
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const RE2> regex, source_.Get(ctx));
    const auto strings = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<bool>();
    ctx.ParallelFor(static_cast<int64_t>(strings.size()), 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const std::string& text = strings[i];
        // Else what RE2::FullMatch() does, without its preparations for groups.
        out[i] = simple_ ? simple_->FullMatch(text)
                         : regex->Match(text, 0, text.size(), RE2::ANCHOR_BOTH, nullptr, 0);
      }
    });
    return absl::OkStatus();
  }

 private:
  RegexSource source_;
  std::optional<SimplePattern> simple_;  // of an attribute that needs no more
};
REGISTER_KERNEL("RegexFullMatch", kCpu, RegexFullMatchKernel);
REGISTER_KERNEL("StaticRegexFullMatch", kCpu, RegexFullMatchKernel);

// Replaces the first match, or all of them, in each string. `\1` in the rewrite is the first group.
// A rewrite that names a group which the pattern does not have changes nothing.
class RegexReplaceKernel : public OpKernel {
 public:
  explicit RegexReplaceKernel(const KernelBuild& build)
      : fixed_(build.op().name == "StaticRegexReplace"),
        source_(build, fixed_),
        global_(build.attr<bool>("replace_global")) {
    if (fixed_) rewrite_ = build.attr<std::string>("rewrite");
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const RE2> regex, source_.Get(ctx));
    if (!fixed_ && ctx.input(2).num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("rewrite must be a scalar, has shape ", ctx.input(2).shape().ToString()));
    }
    const std::string& rewrite = fixed_ ? rewrite_ : ctx.input(2).scalar<std::string>();
    const auto strings = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<std::string>();
    ctx.ParallelFor(static_cast<int64_t>(strings.size()), 1000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = strings[i];
        if (global_) {
          RE2::GlobalReplace(&out[i], *regex, rewrite);
        } else {
          RE2::Replace(&out[i], *regex, rewrite);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const bool fixed_;
  RegexSource source_;
  const bool global_;
  std::string rewrite_;
};
REGISTER_KERNEL("RegexReplace", kCpu, RegexReplaceKernel);
REGISTER_KERNEL("StaticRegexReplace", kCpu, RegexReplaceKernel);

}  // namespace
}  // namespace tessera
