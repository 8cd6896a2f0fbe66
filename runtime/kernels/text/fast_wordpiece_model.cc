#include "runtime/kernels/text/fast_wordpiece_model.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "unicode/uchar.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

// Fields of the model's table.
enum Field : int {
  kTrie = 0,
  kContinuations = 3,
  kMaxBytes = 4,
  kSuffixIndicator = 5,
  kUnknownToken = 6,
  kUnknownId = 7,
  kSplitsText = 10,
  kDetokenizes = 11,
  kVocabulary = 12,
  kIsSuffix = 13,
};

// True for characters that are words of their own, as BERT has it: Chinese ones, and punctuation,
// among which all of ASCII that is neither letter nor digit.
bool IsWordOfItsOwn(UChar32 c) {
  constexpr UChar32 kChinese[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                     {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf},
                                     {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (const auto& [first, last] : kChinese) {
    if (c >= first && c <= last) return true;
  }
  if (c > ' ' && c < 0x7f) return !u_isalnum(c);
  return u_ispunct(c);
}

}  // namespace

absl::StatusOr<FastWordpieceModel> FastWordpieceModel::Read(const Tensor& tensor) {
  const absl::string_view bytes(reinterpret_cast<const char*>(tensor.raw()),
                                static_cast<size_t>(tensor.num_elements()));
  ASSIGN_OR_RETURN(const FlatTable table, FlatTable::Root(bytes));
  ASSIGN_OR_RETURN(const auto units, table.Vector<uint32_t>(kTrie));
  FastWordpieceModel model(table, units);
  ASSIGN_OR_RETURN(model.suffix_indicator_, table.String(kSuffixIndicator));
  ASSIGN_OR_RETURN(model.unknown_, table.String(kUnknownToken));
  ASSIGN_OR_RETURN(model.vocabulary_, table.Vector<uint32_t>(kVocabulary));
  ASSIGN_OR_RETURN(model.is_suffix_, table.Vector<uint8_t>(kIsSuffix));
  model.unknown_id_ = table.Scalar<int32_t>(kUnknownId, 0);
  model.max_bytes_ = table.Scalar<int32_t>(kMaxBytes, 0);
  model.splits_text_ = table.Scalar<uint8_t>(kSplitsText, 0) != 0;
  model.detokenizes_ = table.Scalar<uint8_t>(kDetokenizes, 0) != 0;
  if (model.vocabulary_.size != model.is_suffix_.size) {
    return absl::InvalidArgumentError(absl::StrCat("the model is damaged: it has ",
                                                   model.vocabulary_.size, " pieces and ",
                                                   model.is_suffix_.size, " kinds of them"));
  }
  model.continuations_ = table.Scalar<uint32_t>(kContinuations, DoubleArrayTrie::kRoot);
  return model;
}

void FastWordpieceModel::Tokenize(absl::string_view text, std::vector<Piece>* pieces) const {
  if (!splits_text_) return CutWord(text, 0, pieces);
  const auto size = static_cast<int32_t>(text.size());
  int32_t begin = 0;
  const auto end_word = [&](int32_t end) {
    CutWord(text.substr(begin, end - begin), begin, pieces);
  };
  for (int32_t at = 0, next = 0; at < size; at = next) {
    UChar32 c;
    U8_NEXT(text.data(), next, size, c);
    const bool is_alone = IsWordOfItsOwn(c);
    if (!is_alone && !u_isUWhiteSpace(c)) continue;
    end_word(at);
    begin = at;
    if (is_alone) end_word(next);
    begin = next;
  }
  end_word(size);
}

void FastWordpieceModel::CutWord(absl::string_view word, int64_t at,
                                 std::vector<Piece>* pieces) const {
  const auto size = static_cast<int64_t>(word.size());
  if (size == 0) return;
  const size_t before = pieces->size();
  for (int64_t begin = 0; begin < size;) {
    Piece longest = {
        .id = unknown_id_, .is_continuation = begin > 0, .begin = at + begin, .end = 0};
    std::optional<uint32_t> node = begin == 0 ? DoubleArrayTrie::kRoot : continuations_;
    if (size > max_bytes_) node.reset();
    for (int64_t end = begin; node && end < size;) {
      node = trie_.Child(*node, static_cast<uint8_t>(word[end++]));
      const std::optional<uint32_t> value = node ? trie_.Value(*node) : std::nullopt;
      if (!value) continue;
      longest.id = static_cast<int32_t>(*value >> 8 & 0x3fffff);
      longest.end = at + end;
    }
    if (longest.end == 0) {
      pieces->resize(before);
      pieces->push_back({unknown_id_, false, at, at + size});
      return;
    }
    pieces->push_back(longest);
    begin = longest.end - at;
  }
}

std::string FastWordpieceModel::Name(const Piece& piece, absl::string_view text) const {
  const absl::string_view name = piece.id == unknown_id_
                                     ? unknown_
                                     : text.substr(static_cast<size_t>(piece.begin),
                                                   static_cast<size_t>(piece.end - piece.begin));
  return piece.is_continuation ? absl::StrCat(suffix_indicator_, name) : std::string(name);
}

absl::StatusOr<std::string> FastWordpieceModel::Detokenize(absl::Span<const int32_t> ids) const {
  if (!detokenizes_) {
    return absl::FailedPreconditionError(
        "the model was made without what Detokenize needs: build it with "
        "support_detokenization=True");
  }
  std::string text;
  bool is_first = true;
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= vocabulary_.size) {
      return absl::InvalidArgumentError(
          absl::StrCat("id ", id, " is not in [0, ", vocabulary_.size, ")"));
    }
    ASSIGN_OR_RETURN(const absl::string_view name,
                     table_.StringOf(vocabulary_, static_cast<uint32_t>(id)));
    const bool is_suffix = is_suffix_[static_cast<uint32_t>(id)] != 0;
    if (!is_first && !is_suffix) text += ' ';
    if (is_first && is_suffix) absl::StrAppend(&text, suffix_indicator_);
    absl::StrAppend(&text, name);
    is_first = false;
  }
  return text;
}

}  // namespace tessera
