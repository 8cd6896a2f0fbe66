// The widths of recurrent cells.
#pragma once

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tessera {

// Errors: INVALID_ARGUMENT if the shape of the weights of a cell, which have a row for each input
// and unit and up to four columns for each unit, may overflow.
inline absl::Status CheckCellWidths(int64_t inputs, int64_t units) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 4;
  if (inputs <= kMost && units <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a cell cannot have ", inputs, " inputs and ", units, " units"));
}

}  // namespace tessera
