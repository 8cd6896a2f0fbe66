// Reads sorted string tables, the format in which LevelDB stores its files and checkpoints store
// their index. Blocks may be compressed by snappy. Format: docs/formats.md.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Calls visit(key, value) for each entry of a table, in the order of keys; `file` is the whole
// file. The views are valid only during the call. An error of `visit` ends the reading and is
// returned. Errors: DATA_LOSS, which says what is wrong at which byte. Time and memory are linear
// in the size of the file, also for corrupt files.
absl::Status ReadTable(
    absl::string_view file,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit);

}  // namespace tessera
