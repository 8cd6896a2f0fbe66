// The names of the files that patterns of the shell describe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tessera {

// Returns the files that match one of the patterns, as glob(3) has them, sorted. A wildcard may
// stand for the period that a name begins with, and for a link to a file that does not exist; a
// pattern without wildcards matches no such link. All this is as in TensorFlow. A file that matches
// several patterns is there as often. Errors: UNAVAILABLE for a directory that cannot be read.
absl::StatusOr<std::vector<std::string>> FilesThatMatch(absl::Span<const std::string> patterns);

}  // namespace tessera
