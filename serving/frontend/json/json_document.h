// Parses JSON text into a tree, and describes its values for error messages.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rapidjson/document.h"
#include "serving/frontend/json/json_memory.h"

namespace tessera::serving {

using JsonPool = rapidjson::MemoryPoolAllocator<JsonMemory>;
using JsonValue = rapidjson::GenericValue<rapidjson::UTF8<>, JsonPool>;
// Freed as a whole, without visiting its values.
using JsonDocument = rapidjson::GenericDocument<rapidjson::UTF8<>, JsonPool, JsonMemory>;

// Longer text is refused, because RapidJSON counts in 32 bits.
inline constexpr size_t kMaxJsonBytes = 2'000'000'000;

// How text is read.
enum class JsonDialect {
  kUpstream,  // as by TensorFlow Serving: text after the object is ignored, and a number may be off
              // by one in the last place of a double
  kExact,     // nothing but white space may follow, and numbers are the nearest doubles
};

// Parses `text`, whose first value must be an object. NaN, Inf,
// Infinity and their negatives are numbers. A byte order mark is skipped. Strings may be invalid
// UTF-8. Nested values take heap, not stack.
// Errors: INVALID_ARGUMENT with the offset of the error. Throws std::bad_alloc where there is no
// memory for the tree.
absl::Status ParseJsonObject(absl::string_view text, JsonDocument* document,
                             JsonDialect dialect = JsonDialect::kUpstream);

// Returns the first member of this name, or null.
const JsonValue* FindMember(const JsonValue& object, absl::string_view name);

inline absl::string_view TextOf(const JsonValue& string) {
  return absl::string_view(string.GetString(), string.GetStringLength());
}

// Reads the member "signature_name"; "" if there is none. Errors: INVALID_ARGUMENT if it is no
// string.
absl::Status ReadSignatureName(const JsonValue& body, std::string* name);

// Returns true for {"b64": "..."} without other members, which is how bytes are written.
bool IsBase64Object(const JsonValue& value);
// Decodes such an object. Errors: INVALID_ARGUMENT if it is none, or its text is no base64.
absl::Status DecodeBase64Object(const JsonValue& value, std::string* bytes);

// Returns the value as JSON, for an error message: arrays on one line, cut after 256 bytes.
std::string QuoteJson(const JsonValue& value);
// Returns "Null", "False", "True", "Object", "Array", "String" or "Number".
absl::string_view JsonTypeName(const JsonValue& value);

}  // namespace tessera::serving
