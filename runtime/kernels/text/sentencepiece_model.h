// A SentencePiece model: text to pieces and back.
//
// T. Kudo, J. Richardson, SentencePiece: A simple and language independent subword tokenizer and
// detokenizer for Neural Text Processing, EMNLP 2018.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/kernels/text/sentencepiece_normalizer.h"
#include "runtime/kernels/text/sentencepiece_spec.h"

namespace tessera {

// The resource behind SentencepieceOp. Thread-safe.
class SentencepieceModel : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "sentencepiece_model";

  struct Piece {
    std::string text;
    int32_t id = 0;
    int64_t begin = 0, end = 0;  // in bytes of the original text
  };

  // `message` is a serialised ModelProto. Errors: INVALID_ARGUMENT for what is none; UNIMPLEMENTED
  // for models of whole words or single characters.
  static absl::StatusOr<IntrusivePtr<SentencepieceModel>> Make(absl::string_view message);

  // The best pieces of the text.
  std::vector<Piece> Encode(absl::string_view text) const;
  // The pieces that stand for the beginning and the end.
  Piece bos() const { return {spec_.bos, IdOf(spec_.bos)}; }
  Piece eos() const { return {spec_.eos, IdOf(spec_.eos)}; }

  // The text of pieces, which are named by their ids or their texts.
  // Errors: INVALID_ARGUMENT for an id out of range.
  absl::StatusOr<std::string> Decode(absl::Span<const int32_t> ids) const;
  std::string Decode(absl::Span<const std::string> pieces) const;

  int32_t size() const { return static_cast<int32_t>(spec_.pieces.size()); }
  // The id of a piece, that of the unknown one if there is none of this name.
  int32_t IdOf(absl::string_view piece) const;
  // Errors: INVALID_ARGUMENT for an id out of range.
  absl::StatusOr<std::string> TextOf(int32_t id) const;

  std::string DebugString() const override;

 private:
  using Kind = SentencepieceSpec::Kind;
  // A part of the normalised text, and the piece that it is.
  struct Part {
    absl::string_view text;
    int32_t id;
  };
  class BpeMerger;
  class Decoder;

  explicit SentencepieceModel(SentencepieceSpec spec) : spec_(std::move(spec)) {}

  // Cuts the text where the sum of scores is largest.
  std::vector<Part> EncodeUnigram(absl::string_view text) const;
  // Merges neighbours, the pair with the highest score first.
  std::vector<Part> EncodeBpe(absl::string_view text) const;
  void AddBytePieces(const Piece& unknown, std::vector<Piece>* pieces) const;
  Kind KindOf(int32_t id) const { return spec_.pieces[static_cast<size_t>(id)].kind; }

  const SentencepieceSpec spec_;
  std::optional<SentencepieceNormalizer> normalizer_;
  absl::flat_hash_map<absl::string_view, int32_t> ids_;      // of all pieces
  absl::flat_hash_map<absl::string_view, int32_t> in_text_;  // of those that text is cut into
  int32_t unknown_ = 0;
  size_t longest_ = 0;                         // the bytes of the longest piece in text
  float least_score_ = 0, largest_score_ = 0;  // of normal pieces
};

}  // namespace tessera
