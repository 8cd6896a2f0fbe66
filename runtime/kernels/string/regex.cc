// Regular expressions over strings, by RE2.
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "re2/re2.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/string/shared_regex.h"

namespace tessera {
namespace {

// The regular expression a kernel uses: from an attribute, compiled once, or from an input,
// compiled again only when it changes.
class RegexSource {
 public:
  RegexSource(const KernelBuild& build, bool from_attribute) : fixed_(from_attribute) {
    if (!from_attribute) return;
    absl::StatusOr<std::shared_ptr<SharedRegex>> regex =
        SharedRegex::Make(build.attr<std::string>("pattern"));
    if (regex.ok()) {
      regex_ = *std::move(regex);
    } else {
      build.Fail(regex.status());
    }
  }

  absl::StatusOr<std::shared_ptr<SharedRegex>> Get(const KernelContext& ctx) {
    if (fixed_) return regex_;
    const Tensor& pattern = ctx.input(1);
    if (!pattern.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pattern must be a scalar, has shape ", pattern.shape().ToString()));
    }
    absl::MutexLock lock(&mu_);
    if (!regex_ || regex_->pattern() != pattern.scalar<std::string>()) {
      ASSIGN_OR_RETURN(regex_, SharedRegex::Make(pattern.scalar<std::string>()));
    }
    return regex_;
  }

 private:
  const bool fixed_;
  absl::Mutex mu_;
  std::shared_ptr<SharedRegex> regex_;  // guarded by mu_ unless fixed_
};

// Whether each string as a whole matches.
class RegexFullMatchKernel : public OpKernel {
 public:
  explicit RegexFullMatchKernel(const KernelBuild& build)
      : source_(build, build.op().name == "StaticRegexFullMatch") {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<SharedRegex> regex, source_.Get(ctx));
    const auto strings = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<bool>();
    const auto total = static_cast<int64_t>(strings.size());
    if (regex->simple()) {
      ctx.ParallelFor(total, 50, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = regex->simple()->FullMatch(strings[i]);
      });
      return absl::OkStatus();
    }
    ctx.ParallelFor(total, 500, [&](int64_t begin, int64_t end) {
      const SharedRegex::Copy copy(*regex);
      for (int64_t i = begin; i < end; ++i) {
        // What RE2::FullMatch() does, without its preparations for groups.
        out[i] = copy->Match(strings[i], 0, strings[i].size(), RE2::ANCHOR_BOTH,
                             /*submatch=*/nullptr, 0);
      }
    });
    return absl::OkStatus();
  }

 private:
  RegexSource source_;
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
    ASSIGN_OR_RETURN(const std::shared_ptr<SharedRegex> regex, source_.Get(ctx));
    if (!fixed_ && !ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rewrite must be a scalar, has shape ", ctx.input(2).shape().ToString()));
    }
    const std::string& rewrite = fixed_ ? rewrite_ : ctx.input(2).scalar<std::string>();
    const auto strings = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto out = output->flat<std::string>();
    const auto total = static_cast<int64_t>(strings.size());
    const bool is_plain = rewrite.find('\\') == std::string::npos;
    if (is_plain && regex->simple() && regex->simple()->can_replace()) {
      ctx.ParallelFor(total, 200, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          out[i] = regex->simple()->Replace(strings[i], rewrite, global_);
        }
      });
      return absl::OkStatus();
    }
    ctx.ParallelFor(total, 1000, [&](int64_t begin, int64_t end) {
      const SharedRegex::Copy copy(*regex);
      for (int64_t i = begin; i < end; ++i) {
        out[i] = strings[i];
        if (global_) {
          RE2::GlobalReplace(&out[i], *copy, rewrite);
        } else {
          RE2::Replace(&out[i], *copy, rewrite);
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
