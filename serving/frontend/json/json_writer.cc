#include "serving/frontend/json/json_writer.h"

#include <array>
#include <cstdint>

namespace tessera::serving {
namespace {

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
  return escapes;
}
constexpr std::array<char, 256> kEscapes = MakeEscapes();

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const char escape = kEscapes[byte];
    if (escape == 0) [[likely]]
      continue;
    out->append(text.data() + copied, i - copied);
    copied = i + 1;
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

void JsonWriter::NewLine() {
  out_->push_back('\n');
  out_->append(kIndent * levels_.size(), ' ');
}

void JsonWriter::BeginValue() {
  // The value of a member follows its key without a separator here.
  if (levels_.empty() || !levels_.back().is_array) return;
  Level& array = levels_.back();
  if (!array.is_empty) out_->append(one_line_ ? ", " : ",");
  if (!one_line_) NewLine();
  array.is_empty = false;
}

void JsonWriter::Key(absl::string_view name) {
  Level& object = levels_.back();
  if (!object.is_empty) out_->push_back(',');
  object.is_empty = false;
  NewLine();
  AppendJsonString(name, out_);
  out_->append(": ");
}

void JsonWriter::Start(char bracket, bool is_array) {
  BeginValue();
  out_->push_back(bracket);
  levels_.push_back({.is_array = is_array});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.is_empty && !(level.is_array && one_line_)) NewLine();
  out_->push_back(bracket);
}

}  // namespace tessera::serving
