// The model of FastWordpieceTokenizer: a vocabulary as a trie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/text/double_array_trie.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A view of the tensor that it was read from, which must outlive it.
//
// Words are cut greedily: the longest piece of the vocabulary comes first, and then the longest one
// that continues a word, again and again. A word without a piece somewhere, or with too many bytes,
// is unknown as a whole. (The model also has what an automaton needs that never goes back in the
// word; words are too short for it to matter.)
class FastWordpieceModel {
 public:
  struct Piece {
    int32_t id;
    bool is_continuation;  // named with the suffix indicator before it
    int64_t begin, end;    // in bytes of the text
  };

  // Errors: INVALID_ARGUMENT if the tensor does not hold a model.
  static absl::StatusOr<FastWordpieceModel> Read(const Tensor& tensor);

  // Appends the pieces of a text, of many words if the model splits it, or of one.
  void Tokenize(absl::string_view text, std::vector<Piece>* pieces) const;

  // Returns the name of a piece, given the text.
  std::string Name(const Piece& piece, absl::string_view text) const;

  // The text of pieces, words separated by spaces.
  // Errors: FAILED_PRECONDITION if the model was made without it; INVALID_ARGUMENT for an id out of
  // range.
  absl::StatusOr<std::string> Detokenize(absl::Span<const int32_t> ids) const;

 private:
  FastWordpieceModel(const FlatTable& table, const FlatVector<uint32_t>& units)
      : table_(table), trie_(units) {}

  void CutWord(absl::string_view word, int64_t at, std::vector<Piece>* pieces) const;

  FlatTable table_;
  DoubleArrayTrie trie_;
  uint32_t continuations_ = DoubleArrayTrie::kRoot;  // the node that they start from
  absl::string_view suffix_indicator_, unknown_;
  int32_t unknown_id_ = 0, max_bytes_ = 0;
  bool splits_text_ = false, detokenizes_ = false;
  FlatVector<uint32_t> vocabulary_;  // of strings
  FlatVector<uint8_t> is_suffix_;
};

}  // namespace tessera
