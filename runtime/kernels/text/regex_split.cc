// RegexSplitWithOffsets: cuts strings at matches of a regular expression.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT, naming the input, for no scalar, and with RE2's reason.
absl::StatusOr<std::unique_ptr<RE2>> ReadRegex(const Tensor& pattern, absl::string_view name) {
  if (pattern.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a scalar, has shape ", pattern.shape().ToString()));
  }
  auto regex = std::make_unique<RE2>(pattern.flat<std::string>()[0], RE2::Quiet);
  if (regex->ok()) return regex;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " '", regex->pattern(), "' is no regular expression: ", regex->error()));
}

// Inputs: strings, the expression of delimiters, whose first group is what is cut out, and that of
// the delimiters which become tokens too; none if it is empty. Outputs: tokens, where they begin
// and end in their string, in bytes, and row splits. Without a group, nothing is cut. As TensorFlow
// has it, a string ends at its first zero byte.
// Errors: INVALID_ARGUMENT for expressions that are none, or that match nothing at all.
class RegexSplitKernel final : public OpKernel {
 public:
  explicit RegexSplitKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto delimiter, ReadRegex(ctx.input(1), "delim_regex_pattern"));
    ASSIGN_OR_RETURN(const auto kept, ReadRegex(ctx.input(2), "keep_delim_regex_pattern"));
    const auto strings = ctx.input(0).flat<std::string>();
    Tokens tokens;
    std::vector<int64_t> lengths;
    for (const std::string& text : strings) {
      const size_t before = tokens.texts.size();
      RETURN_IF_ERROR(Split(text, *delimiter, *kept, &tokens));
      lengths.push_back(static_cast<int64_t>(tokens.texts.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<std::string>(ctx, 0, tokens.texts));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 1, tokens.begins));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 2, tokens.ends));
    return WriteSplits<int64_t>(ctx, 3, lengths);
  }

 private:
  struct Tokens {
    std::vector<absl::string_view> texts;
    std::vector<int64_t> begins, ends;

    void Add(absl::string_view text, size_t begin, size_t end) {
      texts.push_back(text.substr(begin, end - begin));
      begins.push_back(static_cast<int64_t>(begin));
      ends.push_back(static_cast<int64_t>(end));
    }
  };

  static absl::Status Split(absl::string_view text, const RE2& delimiter, const RE2& kept,
                            Tokens* tokens) {
    text = text.substr(0, text.find('\0'));
    size_t at = 0;
    re2::StringPiece groups[2];  // the match, and its first group
    while (delimiter.NumberOfCapturingGroups() > 0 &&
           delimiter.Match({text.data() + at, text.size() - at}, 0, text.size() - at,
                           RE2::UNANCHORED, groups, 2)) {
      if (groups[0].empty()) {
        return absl::InvalidArgumentError(absl::StrCat("delim_regex_pattern '", delimiter.pattern(),
                                                       "' matches the empty string"));
      }
      const auto match_end = static_cast<size_t>(groups[0].data() - text.data()) + groups[0].size();
      // A group that took no part in the match lies nowhere.
      const size_t begin = groups[1].data() == nullptr
                               ? match_end
                               : static_cast<size_t>(groups[1].data() - text.data());
      if (begin > at) tokens->Add(text, at, begin);
      if (!kept.pattern().empty() && RE2::FullMatch(groups[1], kept)) {
        tokens->Add(text, begin, begin + groups[1].size());
      }
      at = match_end;
    }
    if (at < text.size()) tokens->Add(text, at, text.size());
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("RegexSplitWithOffsets", kCpu, RegexSplitKernel);

}  // namespace
}  // namespace tessera
