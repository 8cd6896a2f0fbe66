#include "runtime/kernels/text/whitespace_words.h"

#include "unicode/utf8.h"

namespace tessera {
namespace {

bool IsSet(absl::string_view bits, UChar32 c) {
  if (c < 0 || static_cast<size_t>(c >> 3) >= bits.size()) return false;
  return (static_cast<uint8_t>(bits[c >> 3]) >> (c & 7) & 1) != 0;
}

}  // namespace

std::vector<WordRange> WhitespaceSeparatedWords(absl::string_view text, absl::string_view bits) {
  std::vector<WordRange> words;
  const auto size = static_cast<int32_t>(text.size());
  int32_t begin = -1;  // of the word; -1 between words
  const auto end_word = [&](int32_t end) {
    if (begin >= 0) words.push_back({begin, end});
    begin = -1;
  };
  for (int32_t at = 0, next = 0; at < size; at = next) {
    UChar32 c;
    U8_NEXT(text.data(), next, size, c);
    if (IsSet(bits, c)) {
      end_word(next - 1);  // TensorFlow takes white space of any length for one byte
    } else if (begin < 0) {
      begin = at;
    }
  }
  end_word(size);
  return words;
}

}  // namespace tessera
