// Lists everything below a directory.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

// Paths relative to the root, each directory before its contents.
struct DirectoryTree {
  std::vector<std::string> files;        // regular ones
  std::vector<std::string> directories;  // without the root
};

// Returns what is below a directory, in the order of the names. Symbolic links are followed, but
// those to a directory around them are left out, and so are links that lead nowhere.
// Errors: those of ListDirectory(); PERMISSION_DENIED for an entry that cannot be looked at;
// RESOURCE_EXHAUSTED if symbolic links lead to over 1,000 directories.
absl::StatusOr<DirectoryTree> ReadDirectoryTree(const std::string& root);

}  // namespace tessera
