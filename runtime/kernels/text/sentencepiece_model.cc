#include "runtime/kernels/text/sentencepiece_model.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

// The value of a piece such as <0x0A>; -1 for another piece.
int ByteOf(absl::string_view piece) {
  unsigned value = 0;
  const bool is_byte = piece.size() == 6 && absl::StartsWith(piece, "<0x") && piece[5] == '>' &&
                       std::sscanf(std::string(piece.substr(3, 2)).c_str(), "%2x", &value) == 1;
  return is_byte ? static_cast<int>(value) : -1;
}

// Appends bytes, with U+FFFD in place of each that belongs to no valid character.
void AppendValid(absl::string_view bytes, std::string* text) {
  const auto size = static_cast<int32_t>(bytes.size());
  for (int32_t at = 0; at < size;) {
    int32_t next = at;
    UChar32 c;
    U8_NEXT(bytes.data(), next, size, c);
    if (c < 0) {
      absl::StrAppend(text, "\ufffd");
      ++at;
    } else {
      absl::StrAppend(text, bytes.substr(at, next - at));
      at = next;
    }
  }
}

}  // namespace

absl::StatusOr<IntrusivePtr<SentencepieceModel>> SentencepieceModel::Make(
    absl::string_view message) {
  ASSIGN_OR_RETURN(SentencepieceSpec spec, SentencepieceSpec::Parse(message));
  if (spec.algorithm != SentencepieceSpec::Algorithm::kUnigram &&
      spec.algorithm != SentencepieceSpec::Algorithm::kBpe) {
    return absl::UnimplementedError(
        "SentencePiece models of whole words or single characters are not supported, only unigram "
        "and BPE models are");
  }
  IntrusivePtr<SentencepieceModel> model(new SentencepieceModel(std::move(spec)));
  ASSIGN_OR_RETURN(SentencepieceNormalizer normalizer, SentencepieceNormalizer::Make(model->spec_));
  model->normalizer_.emplace(std::move(normalizer));
  model->least_score_ = std::numeric_limits<float>::max();
  model->largest_score_ = std::numeric_limits<float>::lowest();
  const auto& pieces = model->spec_.pieces;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    model->ids_.emplace(pieces[i].text, id);
    switch (pieces[i].kind) {
      case Kind::kNormal:
        model->least_score_ = std::min(model->least_score_, pieces[i].score);
        model->largest_score_ = std::max(model->largest_score_, pieces[i].score);
        [[fallthrough]];
      case Kind::kUserDefined:
      case Kind::kUnused:
        if (pieces[i].text.empty())
          return absl::InvalidArgumentError("the model has an empty piece");
        model->in_text_.emplace(pieces[i].text, id);
        model->longest_ = std::max(model->longest_, pieces[i].text.size());
        break;
      case Kind::kUnknown:
        model->unknown_ = id;
        break;
      default:
        break;
    }
  }
  return model;
}

std::vector<SentencepieceModel::Piece> SentencepieceModel::Encode(absl::string_view text) const {
  const SentencepieceNormalizer::Text normal = normalizer_->Normalize(text);
  const std::vector<Part> parts = spec_.algorithm == SentencepieceSpec::Algorithm::kBpe
                                      ? EncodeBpe(normal.bytes)
                                      : EncodeUnigram(normal.bytes);
  std::vector<Piece> pieces;
  size_t at = 0;
  bool after_unknown = false;
  for (const Part& part : parts) {
    const int64_t begin = normal.origins[at], end = normal.origins[at + part.text.size()];
    Piece piece = {std::string(part.text), part.id, begin, end};
    at += part.text.size();
    const bool is_unknown = part.id == unknown_;
    if (is_unknown && spec_.has_byte_fallback) {
      AddBytePieces(piece, &pieces);
    } else if (is_unknown && after_unknown) {
      // A run of unknown parts is one piece.
      pieces.back().text += piece.text;
      pieces.back().end = end;
    } else {
      pieces.push_back(std::move(piece));
    }
    after_unknown = is_unknown;
  }
  return pieces;
}

// All but the last byte stand for nothing of the original.
void SentencepieceModel::AddBytePieces(const Piece& unknown, std::vector<Piece>* pieces) const {
  for (size_t i = 0; i < unknown.text.size(); ++i) {
    std::string name = absl::StrFormat("<0x%02X>", static_cast<uint8_t>(unknown.text[i]));
    const int32_t id = IdOf(name);
    const bool is_last = i + 1 == unknown.text.size();
    pieces->push_back({std::move(name), id, unknown.begin, is_last ? unknown.end : unknown.begin});
  }
}

int32_t SentencepieceModel::IdOf(absl::string_view piece) const {
  const auto it = ids_.find(piece);
  return it == ids_.end() ? unknown_ : it->second;
}

absl::StatusOr<std::string> SentencepieceModel::TextOf(int32_t id) const {
  if (id >= 0 && id < size()) return spec_.pieces[static_cast<size_t>(id)].text;
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid id: ", id, " is not in [0, ", size(), ")"));
}

// Writes text piece by piece.
class SentencepieceModel::Decoder {
 public:
  explicit Decoder(const SentencepieceModel& model) : model_(model) {}

  void Add(absl::string_view piece, int32_t id) {
    const Kind kind = model_.KindOf(id);
    if (const int byte = kind == Kind::kByte ? ByteOf(piece) : -1; byte >= 0) {
      bytes_.push_back(static_cast<char>(byte));
      return;
    }
    WriteBytes();
    const SentencepieceSpec& spec = model_.spec_;
    if (kind == Kind::kControl) return;
    if (kind == Kind::kUnknown) {
      const bool is_named = spec.pieces[static_cast<size_t>(id)].text == piece;
      absl::StrAppend(&text_, is_named ? absl::string_view(spec.unknown_surface) : piece);
      return;
    }
    // Spaces before the first word are not of the text, as TensorFlow Text has it.
    if (text_.empty() && (spec.adds_space || spec.removes_spaces)) {
      absl::ConsumePrefix(&piece, SentencepieceNormalizer::kSpaceMark);
    }
    absl::StrAppend(&text_,
                    absl::StrReplaceAll(piece, {{SentencepieceNormalizer::kSpaceMark, " "}}));
  }

  std::string Finish() {
    WriteBytes();
    return std::move(text_);
  }

 private:
  void WriteBytes() {
    AppendValid(bytes_, &text_);
    bytes_.clear();
  }

  const SentencepieceModel& model_;
  std::string text_, bytes_;
};

absl::StatusOr<std::string> SentencepieceModel::Decode(absl::Span<const int32_t> ids) const {
  Decoder decoder(*this);
  for (const int32_t id : ids) {
    ASSIGN_OR_RETURN(const std::string text, TextOf(id));
    decoder.Add(text, id);
  }
  return decoder.Finish();
}

std::string SentencepieceModel::Decode(absl::Span<const std::string> pieces) const {
  Decoder decoder(*this);
  for (const std::string& piece : pieces) decoder.Add(piece, IdOf(piece));
  return decoder.Finish();
}

std::string SentencepieceModel::DebugString() const {
  return absl::StrCat("SentencePiece model of ", size(), " pieces");
}

}  // namespace tessera
