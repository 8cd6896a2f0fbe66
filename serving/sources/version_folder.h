// VersionFolder: what can be told of a version's directory without reading its files.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace tessera::serving {

// How a directory, or the file in its place, looks now, with all that is in it.
struct VersionFolder {
  // Of names, sizes, modification times, inodes and permissions: differs if any of them does.
  uint64_t fingerprint = 0;
  // When anything in it was last written, added, removed or given attributes, by the file system's
  // clock.
  absl::Time last_change;
  // True if the directory itself was given its name or attributes after that. So it is after a
  // rename, and at the end of a copy that sets a directory's attributes once it is filled, as cp,
  // rsync, tar and Python's copytree do; never in the midst of writing.
  bool finished = false;
};

// Follows links to files, and the path's own; links to directories inside may lead anywhere. What
// cannot be read or has vanished counts by its error: the fingerprint changes when it can be read
// again.
VersionFolder LookAtVersionFolder(const std::string& path);

}  // namespace tessera::serving
