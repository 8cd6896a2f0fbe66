// JSON text parsed into a tree, and what error messages say of its values.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rapidjson/document.h"

namespace tessera::serving {

using JsonValue = rapidjson::Value;
using JsonDocument = rapidjson::Document;  // freed as a whole, without a walk through its values

// Text that is longer is refused: RapidJSON counts in 32 bits.
inline constexpr size_t kMaxJsonBytes = 2'000'000'000;

// Parses `text`, whose first value must be an object; what follows it is not looked at. NaN, Inf,
// Infinity and their negatives are numbers; a byte order mark is skipped; strings may be invalid
// UTF-8. Nesting costs heap, not stack.
// Errors: INVALID_ARGUMENT with the offset of what cannot be parsed.
absl::Status ParseJsonObject(absl::string_view text, JsonDocument* document);

// The first member of this name, or null.
const JsonValue* FindMember(const JsonValue& object, absl::string_view name);

inline absl::string_view TextOf(const JsonValue& string) {
  return absl::string_view(string.GetString(), string.GetStringLength());
}

// "" if there is none. Errors: INVALID_ARGUMENT if it is no string.
absl::Status ReadSignatureName(const JsonValue& body, std::string* name);

// {"b64": "..."} and nothing else: how bytes are written.
bool IsBase64Object(const JsonValue& value);
// Errors: INVALID_ARGUMENT if it is no such object, or its text no base64.
absl::Status DecodeBase64Object(const JsonValue& value, std::string* bytes);

// The value as JSON, for a message: arrays on one line, cut after 256 bytes.
std::string QuoteJson(const JsonValue& value);
// "Null", "False", "True", "Object", "Array", "String", "Number".
absl::string_view JsonTypeName(const JsonValue& value);

}  // namespace tessera::serving
