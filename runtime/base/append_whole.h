// Appends to files so that readers find whole records.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Writes all of the bytes to a descriptor. After an error, cuts the file back to `size`, its size
// before the call, where the descriptor goes on; nullopt for what is no regular file. `path` is for
// the error. Errors: what the system says, such as RESOURCE_EXHAUSTED for a full disk.
absl::Status AppendWhole(int fd, absl::string_view bytes, std::optional<off_t> size,
                         const std::string& path);

}  // namespace tessera
