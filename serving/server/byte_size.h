// ParseByteSize: reads sizes in bytes as people write them: "512MiB", "1.5GB", "1073741824".
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Parses a number above zero and a unit in any letter case; there may be a blank between them.
// Units are none or B; K, M, G, T, with or without B, which are powers of 1000; and Ki, Mi, Gi, Ti,
// with or without B, which are powers of 1024. Errors: INVALID_ARGUMENT for anything else, and for
// more than 2^63 - 1 bytes.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

}  // namespace tessera::serving
