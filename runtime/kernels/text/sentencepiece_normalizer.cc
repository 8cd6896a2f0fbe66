#include "runtime/kernels/text/sentencepiece_normalizer.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "unicode/utf8.h"

namespace tessera {

absl::StatusOr<SentencepieceNormalizer> SentencepieceNormalizer::Make(
    const SentencepieceSpec& spec) {
  const absl::string_view map = spec.character_map;
  if (map.empty()) return SentencepieceNormalizer(spec, {}, {});
  uint32_t size = 0;  // of the trie, in bytes
  if (map.size() >= 4) std::memcpy(&size, map.data(), 4);
  if (map.size() < 4 || size % 4 != 0 || size > map.size() - 4 || map.back() != '\0') {
    return absl::InvalidArgumentError("the model's map of characters is damaged");
  }
  return SentencepieceNormalizer(spec, {map.data() + 4, size / 4}, map.substr(4 + size));
}

SentencepieceNormalizer::SentencepieceNormalizer(const SentencepieceSpec& spec,
                                                 FlatVector<uint32_t> units,
                                                 absl::string_view strings)
    : spec_(&spec), trie_(units), strings_(strings) {
  for (const auto& piece : spec.pieces) {
    if (piece.kind != SentencepieceSpec::Kind::kUserDefined) continue;
    user_defined_.insert(piece.text);
    longest_user_defined_ = std::max(longest_user_defined_, piece.text.size());
  }
}

size_t SentencepieceNormalizer::UserDefinedPrefix(absl::string_view text) const {
  for (size_t size = std::min(longest_user_defined_, text.size()); size > 0; --size) {
    if (user_defined_.contains(text.substr(0, size))) return size;
  }
  return 0;
}

SentencepieceNormalizer::Replacement SentencepieceNormalizer::Begin(absl::string_view text) const {
  if (const size_t size = UserDefinedPrefix(text); size > 0) return {text.substr(0, size), size};
  Replacement longest = {{}, 0};
  trie_.VisitPrefixes(text, [&](size_t size, uint32_t value) {
    if (value < strings_.size()) longest = {strings_.data() + value, size};  // up to its zero byte
  });
  if (longest.consumed > 0) return longest;
  int32_t size = 0;
  UChar32 c;
  U8_NEXT(text.data(), size, static_cast<int32_t>(text.size()), c);
  // One byte is taken for what is not valid.
  if (c < 0) return {"\ufffd", 1};
  return {text.substr(0, static_cast<size_t>(size)), static_cast<size_t>(size)};
}

SentencepieceNormalizer::Text SentencepieceNormalizer::Normalize(absl::string_view original) const {
  Text text;
  size_t at = 0;
  const auto append = [&](absl::string_view bytes) {
    for (const char byte : bytes) {
      const absl::string_view written =
          byte == ' ' && spec_->marks_spaces ? kSpaceMark : absl::string_view(&byte, 1);
      text.bytes.append(written.data(), written.size());
      text.origins.insert(text.origins.end(), written.size(), static_cast<int64_t>(at));
    }
  };
  if (spec_->removes_spaces) {
    while (at < original.size()) {
      const Replacement first = Begin(original.substr(at));
      if (first.text != " ") break;
      at += first.consumed;
    }
  }
  if (at == original.size()) {
    text.origins.push_back(0);
    return text;
  }
  if (spec_->adds_space && !spec_->space_ends_words) append(" ");
  bool skips_space = spec_->removes_spaces;
  while (at < original.size()) {
    const Replacement next = Begin(original.substr(at));
    absl::string_view bytes = next.text;
    while (skips_space && absl::ConsumePrefix(&bytes, " ")) {
    }
    append(bytes);
    if (!bytes.empty()) skips_space = spec_->removes_spaces && absl::EndsWith(bytes, " ");
    at += next.consumed;
  }
  if (spec_->removes_spaces) {
    const absl::string_view space = spec_->marks_spaces ? kSpaceMark : " ";
    while (absl::EndsWith(text.bytes, space)) {
      const size_t size = text.bytes.size() - space.size();
      at = static_cast<size_t>(text.origins[size]);
      text.bytes.resize(size);
      text.origins.resize(size);
    }
  }
  if (spec_->adds_space && spec_->space_ends_words) append(" ");
  text.origins.push_back(static_cast<int64_t>(at));
  return text;
}

}  // namespace tessera
