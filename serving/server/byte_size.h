// Sizes in bytes as people write them: "512MiB", "1.5GB", "1073741824".
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// A number above zero, and a unit in any letter case, a blank between them allowed: none or B; K,
// M, G, T, with or without B, of 1000 each; Ki, Mi, Gi, Ti, with or without B, of 1024 each.
// Errors: INVALID_ARGUMENT for anything else, and for more than 2^63 - 1 bytes.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

}  // namespace tessera::serving
