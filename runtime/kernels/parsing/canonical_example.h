// Serialized tensorflow.SequenceExample messages in canonical form.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// Parses a SequenceExample by the rules of protocol buffers and serializes it again: each key once,
// each feature with one list, and no fields that the messages do not have. Entries of a map replace
// earlier ones of the same key, whereas lists of a feature, and values of an entry, are merged.
// Errors: INVALID_ARGUMENT if the bytes are not a SequenceExample.
absl::StatusOr<std::string> CanonicalSequenceExample(const std::string& serialized);

}  // namespace tessera
