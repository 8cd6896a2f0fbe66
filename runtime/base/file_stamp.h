// FileStamp: tells whether a file has changed, without reading it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace tessera {

// The state of a file at one moment, as the file system tells it. Two stamps of a path are equal if
// its file is the same one and has not changed in between, with the limit that IsSettled() is for.
struct FileStamp {
  // Follows symbolic links. A file that is missing or cannot be looked at has the stamp {}.
  static FileStamp Of(const std::string& path);

  // Returns false if the file changed so shortly before `now` that it could change once more and
  // keep its stamp, because file systems count time in ticks of some milliseconds.
  bool IsSettled(absl::Time now) const;

  bool operator==(const FileStamp&) const = default;

  bool exists = false;
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  absl::Time modified;
  absl::Time changed;  // of the contents or of the properties, such as permissions
};

}  // namespace tessera
