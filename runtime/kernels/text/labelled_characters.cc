// Tokenizers that are told for each character whether a token begins there:
// SplitMergeTokenizeWithOffsets by labels, TokenizerFromLogits by pairs of scores.
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/write_vector.h"
#include "unicode/uchar.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

// Tokens of all strings, and where they begin and end in their string, in bytes.
struct Tokens {
  std::vector<std::string> texts;
  std::vector<int64_t> begins, ends;
  std::vector<int64_t> lengths;  // of the rows
};

// Cuts the text into characters by their first bytes alone, valid or not, as TensorFlow does.
std::vector<absl::string_view> Characters(absl::string_view text) {
  std::vector<absl::string_view> characters;
  while (!text.empty()) {
    const auto first = static_cast<uint8_t>(text[0]);
    const size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    characters.push_back(text.substr(0, size));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

bool IsWhiteSpace(absl::string_view character) {
  int32_t at = 0;
  UChar32 c;
  U8_NEXT_OR_FFFD(character.data(), at, static_cast<int32_t>(character.size()), c);
  return u_isUWhiteSpace(c);
}

// Adds a row with the tokens of the characters. White space belongs to no token; the first other
// character begins one, and so does one behind white space if `splits_at_space`.
// `begins(i)` tells whether character i begins a token.
void AddRow(const std::vector<absl::string_view>& characters, bool splits_at_space,
            absl::FunctionRef<bool(size_t)> begins, Tokens* tokens) {
  const size_t before = tokens->texts.size();
  bool after_space = false;
  int64_t at = 0;
  for (size_t i = 0; i < characters.size(); ++i) {
    const bool is_space = IsWhiteSpace(characters[i]);
    const int64_t end = at + static_cast<int64_t>(characters[i].size());
    if (!is_space) {
      if (tokens->texts.size() == before || begins(i) || (after_space && splits_at_space)) {
        tokens->texts.emplace_back();
        tokens->begins.push_back(at);
        tokens->ends.push_back(at);
      }
      absl::StrAppend(&tokens->texts.back(), characters[i]);
      tokens->ends.back() = end;
    }
    after_space = is_space;
    at = end;
  }
  tokens->lengths.push_back(static_cast<int64_t>(tokens->texts.size() - before));
}

// Outputs: the tokens, row splits, and where the tokens begin and end.
absl::Status Write(KernelContext& ctx, const Tokens& tokens) {
  RETURN_IF_ERROR(WriteVector<std::string>(ctx, 0, tokens.texts));
  RETURN_IF_ERROR(WriteSplits<int64_t>(ctx, 1, tokens.lengths));
  RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 2, tokens.begins));
  return WriteVector<int64_t>(ctx, 3, tokens.ends);
}

absl::Status TooFew(absl::string_view what, int64_t given, size_t characters) {
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", given, " ", what, " for a string of ", characters, " characters"));
}

// Inputs: strings, and for each the labels of its characters, with row splits: 0 begins a token.
// Errors: INVALID_ARGUMENT for fewer labels than characters, and for splits that are none.
class SplitMergeKernel final : public OpKernel {
 public:
  explicit SplitMergeKernel(const KernelBuild& build)
      : splits_at_space_(build.attr<bool>("force_split_at_break_character")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const auto texts = ctx.input(0).flat<std::string>();
    const auto labels = ctx.input(1).flat<int32_t>();
    // TensorFlow leaves alone what stands behind the last row.
    ASSIGN_OR_RETURN(const auto splits, ReadRowSplits(ctx.input(2), -1, "row_splits"));
    if (splits.size() != texts.size() + 1 || splits.back() > static_cast<int64_t>(labels.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "row_splits of ", splits.size() - 1, " rows with ", splits.back(), " labels do not fit ",
          texts.size(), " strings and ", labels.size(), " labels"));
    }
    Tokens tokens;
    for (size_t row = 0; row < texts.size(); ++row) {
      const auto of_row = labels.subspan(splits[row], splits[row + 1] - splits[row]);
      const std::vector<absl::string_view> characters = Characters(texts[row]);
      if (characters.size() > of_row.size()) {
        return TooFew("labels", static_cast<int64_t>(of_row.size()), characters.size());
      }
      AddRow(
          characters, splits_at_space_, [&](size_t i) { return of_row[i] == 0; }, &tokens);
    }
    return Write(ctx, tokens);
  }

 private:
  const bool splits_at_space_;
};
REGISTER_KERNEL("SplitMergeTokenizeWithOffsets", kCpu, SplitMergeKernel);

// Inputs: strings, two scores for each character, of beginning a token and of going on with one,
// and whether white space ends tokens.
// Errors: INVALID_ARGUMENT for other shapes, and for fewer scores than characters.
class TokenizerFromLogitsKernel final : public OpKernel {
 public:
  explicit TokenizerFromLogitsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const auto texts = ctx.input(0).flat<std::string>();
    const Tensor& logits = ctx.input(1);
    const Tensor& splits_at_space = ctx.input(2);
    if (logits.rank() != 3 || logits.dim(0) != static_cast<int64_t>(texts.size())) {
      return absl::InvalidArgumentError(absl::StrCat("logits must have shape [", texts.size(),
                                                     ", characters, 2], has shape ",
                                                     logits.shape().ToString()));
    }
    if (logits.dim(2) != 2) {
      return absl::InternalError(
          absl::StrCat("logits must have pairs, has shape ", logits.shape().ToString()));
    }
    if (splits_at_space.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("force_split_at_break_character must be a scalar, has shape ",
                       splits_at_space.shape().ToString()));
    }
    Tokens tokens;
    for (size_t row = 0; row < texts.size(); ++row) {
      const float* const scores = logits.flat<float>().data() + row * 2 * logits.dim(1);
      const std::vector<absl::string_view> characters = Characters(texts[row]);
      if (static_cast<int64_t>(characters.size()) > logits.dim(1)) {
        return TooFew("logits", logits.dim(1), characters.size());
      }
      AddRow(
          characters, splits_at_space.flat<bool>()[0],
          [&](size_t i) { return scores[2 * i] > scores[2 * i + 1]; }, &tokens);
    }
    return Write(ctx, tokens);
  }
};
REGISTER_KERNEL("TokenizerFromLogits", kCpu, TokenizerFromLogitsKernel);

}  // namespace
}  // namespace tessera
