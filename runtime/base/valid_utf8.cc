#include "runtime/base/valid_utf8.h"

#include "unicode/unistr.h"

namespace tessera {

std::string ToValidUtf8(absl::string_view text) {
  std::string valid;
  icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())})
      .toUTF8String(valid);
  return valid;
}

}  // namespace tessera
