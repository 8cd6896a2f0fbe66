// Text as SentencePiece's pieces are looked for in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/text/double_array_trie.h"
#include "runtime/kernels/text/sentencepiece_spec.h"

namespace tessera {

// Replaces characters by the model's map, removes spaces, and marks the others. Thread-safe.
class SentencepieceNormalizer {
 public:
  struct Text {
    std::string bytes;
    std::vector<int64_t> origins;  // of each byte and of the end: a byte of the original
  };

  // `spec` must outlive it. Errors: INVALID_ARGUMENT for a damaged character map.
  static absl::StatusOr<SentencepieceNormalizer> Make(const SentencepieceSpec& spec);

  Text Normalize(absl::string_view original) const;

  // The length of the longest piece defined by the user that `text` begins with; 0 if there is
  // none.
  size_t UserDefinedPrefix(absl::string_view text) const;

  static constexpr absl::string_view kSpaceMark = "\u2581";

 private:
  struct Replacement {
    absl::string_view text;
    size_t consumed;  // of the original
  };

  SentencepieceNormalizer(const SentencepieceSpec& spec, FlatVector<uint32_t> units,
                          absl::string_view strings);

  // Returns the replacement of the beginning of a text that is not empty.
  Replacement Begin(absl::string_view text) const;

  const SentencepieceSpec* spec_;
  DoubleArrayTrie trie_;
  absl::string_view strings_;  // each ends with a zero byte
  absl::flat_hash_set<std::string> user_defined_;
  size_t longest_user_defined_ = 0;
};

}  // namespace tessera
