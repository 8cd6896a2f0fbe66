#include "serving/frontend/json/json_string.h"

#include <array>
#include <cstdint>

#include "rapidjson/encodings.h"
#include "rapidjson/memorystream.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Marks bytes outside ASCII in the table of escapes.
constexpr char kNotAscii = 1;

// The character after the backslash: 'u' for four hexadecimal digits, 0 for bytes without an
// escape.
constexpr std::array<char, 256> MakeEscapes() {
  std::array<char, 256> escapes{};
  for (int i = 0; i < 32; ++i) escapes[i] = 'u';
  escapes['\b'] = 'b';
  escapes['\f'] = 'f';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  for (int i = 128; i < 256; ++i) escapes[i] = kNotAscii;
  return escapes;
}
constexpr std::array<char, 256> kEscapes = MakeEscapes();

// Takes the bytes that RapidJSON copies while it validates.
struct NullStream {
  void Put(char) {}
};

// Returns the size of the UTF-8 character that `text` begins with; 0 if it begins with none.
size_t CharacterSize(absl::string_view text) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  NullStream ignored;
  return rapidjson::UTF8<>::Validate(stream, ignored) ? stream.Tell() : 0;
}

// Returns the number of bytes before the first one that has an escape or is not ASCII.
size_t SizeWithoutEscapes(absl::string_view text) {
  size_t i = 0;
  while (i < text.size() && kEscapes[static_cast<uint8_t>(text[i])] == 0) ++i;
  return i;
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t size = static_cast<uint8_t>(text[i]) < 128 ? 1 : CharacterSize(text.substr(i));
    if (size == 0) return false;
    i += size;
  }
  return true;
}

void AppendJsonString(absl::string_view text, std::string* out) {
  size_t copied = 0, i = SizeWithoutEscapes(text);
  if (i == text.size()) {
    const size_t at = out->size();
    out->resize(at + text.size() + 2, '"');
    text.copy(out->data() + at + 1, text.size());
    return;
  }
  out->push_back('"');
  for (; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const char escape = kEscapes[byte];
    if (escape == 0) [[likely]]
      continue;
    const size_t character = escape == kNotAscii ? CharacterSize(text.substr(i)) : 0;
    if (character > 0) {
      i += character - 1;
      continue;
    }
    out->append(text.data() + copied, i - copied);
    copied = i + 1;
    if (escape == kNotAscii) {
      out->append(kReplacementCharacter.data(), kReplacementCharacter.size());
      continue;
    }
    out->push_back('\\');
    out->push_back(escape);
    if (escape == 'u') {
      out->append("00");
      out->push_back("0123456789ABCDEF"[byte >> 4]);
      out->push_back("0123456789ABCDEF"[byte & 15]);
    }
  }
  out->append(text.data() + copied, text.size() - copied);
  out->push_back('"');
}

}  // namespace tessera::serving
