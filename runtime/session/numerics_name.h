// The names of numerics modes in flags.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns the mode named "fast" or "strict". Errors: INVALID_ARGUMENT for another name.
absl::StatusOr<Numerics> ParseNumerics(absl::string_view name);

}  // namespace tessera
