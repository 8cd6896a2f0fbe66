// Exceptions as statuses, at the entry points of work that must not end the process.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Returns the status of the exception that is being handled: RESOURCE_EXHAUSTED where memory is
// short, and INTERNAL for all others. `who` begins the message, such as "the request". Call it in a
// catch block.
absl::Status StatusOfException(absl::string_view who);

// Returns what `run()` returns, or the status of the exception that it throws.
template <typename Run>
absl::Status CatchExceptions(absl::string_view who, Run&& run) {
  try {
    return run();
  } catch (...) {
    return StatusOfException(who);
  }
}

}  // namespace tessera
