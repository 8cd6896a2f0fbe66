// The specification of a SentencePiece model: its pieces, and how text is normalised before they
// are looked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// The parts of SentencePiece's ModelProto (sentencepiece_model.proto) that reading and writing text
// needs.
struct SentencepieceSpec {
  enum class Kind {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };
  enum class Algorithm { kUnigram = 1, kBpe = 2, kWord = 3, kCharacter = 4 };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::kNormal;
  };

  std::vector<Piece> pieces;  // by id
  Algorithm algorithm = Algorithm::kUnigram;
  bool space_ends_words = false;  // the mark of a space stands behind words, not before them
  bool has_byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // what an unknown piece is written as
  std::string bos = "<s>", eos = "</s>";
  // Normalisation.
  std::string character_map;   // compiled: a trie and the strings that it leads to
  bool adds_space = true;      // before the first word
  bool removes_spaces = true;  // those at the ends, and repeated ones
  bool marks_spaces = true;    // writes them as U+2581

  // Errors: INVALID_ARGUMENT for what is no such message, and for one without an unknown piece.
  static absl::StatusOr<SentencepieceSpec> Parse(absl::string_view message);
};

}  // namespace tessera
