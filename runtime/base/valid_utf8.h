// Text for messages whose strings must be UTF-8.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns `text` with U+FFFD in place of bytes that are no part of valid UTF-8. Names in requests
// and errors may hold any bytes, and readers of protocol buffers reject a whole message for one
// string that is not UTF-8.
std::string ToValidUtf8(absl::string_view text);

}  // namespace tessera
