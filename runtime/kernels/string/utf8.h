// Positions of characters in UTF-8 text, valid or not.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tessera {

// True for the second and later bytes of a character.
inline bool IsUtf8Continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

// Characters, counted by their first bytes.
inline int64_t CountUtf8(absl::string_view text) {
  int64_t count = 0;
  for (char byte : text) count += !IsUtf8Continuation(byte);
  return count;
}

// The byte where the `n`-th character after byte `from` starts, counted by first bytes; the end of
// the text if there are fewer.
inline size_t SkipUtf8(absl::string_view text, size_t from, int64_t n) {
  while (n > 0 && from < text.size()) {
    ++from;
    while (from < text.size() && IsUtf8Continuation(text[from])) ++from;
    --n;
  }
  return from;
}

}  // namespace tessera
