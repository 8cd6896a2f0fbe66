// Columns of text for a terminal.
#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// Returns the number of characters of UTF-8 text, which are more bytes. Characters that terminals
// show twice as wide count as one.
inline size_t WidthOf(absl::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return (byte & 0xc0) != 0x80; });
}

// Returns the text with spaces after it, `width` characters in all unless it has more.
inline std::string Padded(absl::string_view text, size_t width) {
  std::string padded(text);
  padded.append(width - std::min(width, WidthOf(text)), ' ');
  return padded;
}

}  // namespace tessera::serving
