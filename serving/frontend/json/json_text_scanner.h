// JsonTextScanner: reads the parts of a JSON text one by one, for readers that make no tree.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/string_view.h"
#include "serving/frontend/json/json_number_scanner.h"

namespace tessera::serving {

// Reads from the front of a text. After a failure `p` is unspecified.
struct JsonTextScanner {
  const char* p;
  const char* end;

  void SkipSpace() {
    if (p != end && static_cast<unsigned char>(*p) > ' ') return;
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  }
  // Reads `c` and the white space around it.
  bool Consume(char c) {
    SkipSpace();
    if (p == end || *p != c) return false;
    ++p;
    SkipSpace();
    return true;
  }
  // Reads a word such as true.
  bool Literal(absl::string_view word) {
    if (static_cast<size_t>(end - p) < word.size() ||
        std::memcmp(p, word.data(), word.size()) != 0) {
      return false;
    }
    p += word.size();
    return true;
  }
  // Reads an integer of at most 18 digits.
  bool Integer(int64_t* value) {
    const char* const stop = json_scanner::ScanInteger(p, end, value);
    if (stop != nullptr) p = stop;
    return stop != nullptr;
  }
  // Reads a string without escapes.
  std::optional<absl::string_view> String() {
    if (p == end || *p != '"') return std::nullopt;
    const char* const begin = ++p;
    while (p < end && *p != '"') {
      if (*p == '\\' || static_cast<unsigned char>(*p) < ' ') return std::nullopt;
      ++p;
    }
    if (p == end) return std::nullopt;
    return absl::string_view(begin, p++ - begin);
  }
};

}  // namespace tessera::serving
