// Words between white space, as TensorFlow Text's compiled tables of white space say.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

// The bytes [begin, end) of a word.
struct WordRange {
  int32_t begin, end;
};

// Returns what stands between white space in UTF-8. `bits` has a bit for each code point that says
// whether it is white space; code points behind the last are not.
std::vector<WordRange> WhitespaceSeparatedWords(absl::string_view text, absl::string_view bits);

}  // namespace tessera
