// RunLog: the log of a training run.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/training/job/run_record.h"

namespace tessera {

// Whoever started a run, such as a command that shows it. Called by the run's thread.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void OnRecord(const RunRecord& record) = 0;
};

// Appends records to a file of JSON lines, each with one write(), so that a killed process leaves
// at most one line that is cut off, and passes them on. Used by one thread at a time.
class RunLog {
 public:
  // A line that is cut off at the end of the file is ended. `observer` may be null; otherwise it
  // must outlive the log. Errors: those of the file system.
  static absl::StatusOr<std::unique_ptr<RunLog>> Open(const std::string& path,
                                                      RunObserver* observer);
  // Errors: those of write(), such as RESOURCE_EXHAUSTED (RunFailure::kWrite). The observer has got
  // the record even so.
  absl::Status Write(const RunRecord& record);

 private:
  RunLog(std::string path, int fd, RunObserver* observer);

  const std::string path_;
  const FileDescriptor file_;
  RunObserver* const observer_;
};

}  // namespace tessera
