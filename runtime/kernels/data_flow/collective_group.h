// The groups whose members take part in collective operations.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tessera {

// Errors: INVALID_ARGUMENT.
inline absl::Status CheckGroupSizeIsPositive(int64_t size) {
  if (size > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("group_size must be a positive number, is ", size));
}

}  // namespace tessera
