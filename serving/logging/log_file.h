// LogFile: what a log is written to, in whole records.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Used by one thread at a time, but for StopWaiting().
class LogFile {
 public:
  virtual ~LogFile() = default;
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends all of the bytes, or none of them where the file can be cut back. A later call may
  // succeed, because the disk has room again. Errors: what the system says, with the path.
  virtual absl::Status Append(absl::string_view bytes) = 0;

  // Makes an Append() that waits for a reader, and later ones that would, fail with UNAVAILABLE.
  // Any thread may call it, once. Files that have no readers to wait for ignore it.
  virtual void StopWaiting() {}
};

}  // namespace tessera::serving
