// Reads sorted string tables, the format of a checkpoint's index: LevelDB's, with blocks that may
// be compressed by snappy. Format: docs/formats.md.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Calls visit(key, value) for each entry of the table `file` (its whole contents), in the order of
// keys. The views are valid during the call only. An error of `visit` ends the reading and is
// returned.
// Errors: DATA_LOSS, saying what is wrong at which byte. Time and memory are linear in the size of
// the file, whatever its bytes say.
absl::Status ReadTable(
    absl::string_view file,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit);

}  // namespace tessera
