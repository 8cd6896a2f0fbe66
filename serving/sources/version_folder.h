// VersionFolder: what can be learned about the files of a version without reading them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace tessera::serving {

// The state of a directory, with everything in it, or of a file in its place, or of the files of a
// checkpoint.
struct VersionFolder {
  // Hash of the names, sizes, modification times, inodes and permissions of all entries. The same
  // in every process.
  uint64_t fingerprint = 0;
  // The last time at which anything in the directory was written, added, removed or given
  // attributes, by the clock of the file system.
  absl::Time last_change;
  // True if the directory itself was renamed or given attributes after that. This is so after a
  // rename, and at the end of a copy by cp, rsync, tar or Python's copytree, which set the
  // attributes of a directory once it is filled. It is never so while files are being written.
  // For a checkpoint, true if the file `checkpoint` beside it, which savers write last, is as new
  // as the last change.
  bool finished = false;
  // True if the last change and a rename happened in one tick of the clock of the file system, so
  // that only one who saw the rename knows whether the directory is finished. True, too, for a
  // directory that has just been made.
  bool may_be_finished = false;
  // True if there is no file of this name, so that it can only be the prefix of a checkpoint.
  bool is_checkpoint = false;
};

// Reads the state of a version's folder, or of the checkpoint whose prefix `path` is. Follows
// symbolic links to files, and the path itself if it is one; links to directories inside are not
// followed, because they may lead anywhere. An entry that cannot be read, or has vanished,
// contributes its error to the fingerprint, which therefore changes when the entry can be read
// again.
VersionFolder LookAtVersionFolder(const std::string& path);

}  // namespace tessera::serving
