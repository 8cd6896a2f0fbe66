// Writes text as JSON strings.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// Returns true if `text` is valid UTF-8 (RFC 3629).
bool IsUtf8(absl::string_view text);

// Appends `text` as a JSON string. '"', '\' and control characters are escaped. A byte that is not
// part of valid UTF-8 becomes U+FFFD, because JSON has no other way to hold it.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace tessera::serving
