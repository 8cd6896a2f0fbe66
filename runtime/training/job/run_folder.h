// RunFolder: the folder of one training run, which one process at a time may use.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/file_descriptor.h"

namespace tessera {

// Layout:
//
//   lock              the process that trains here: "PID HOST"; locked by flock() while it lives
//   id                names the run that is there, whatever the folder is called
//   log.jsonl         what the run logged, a JSON object a line
//   checkpoints/      step-N.index and step-N.data-*, and `checkpoint`, which names the last one
//   events/           for TensorBoard
//   profile/          Chrome traces
//   earlier/N/        an earlier run of this folder, put aside by SetAside()
class RunFolder {
 public:
  // Creates the folder if it is missing, and locks it until the object is destroyed. The lock of a
  // process that died does not count. Errors: FAILED_PRECONDITION (RunFailure::kFolderInUse),
  // naming the holder; those of the file system.
  static absl::StatusOr<std::unique_ptr<RunFolder>> Open(const std::string& path);

  // Moves what an earlier run left into earlier/N, so that a new run begins anew. What else lies in
  // the folder stays. Errors: those of the file system.
  absl::Status SetAside();

  // Returns what tells this run from all others, those that had this folder before included. It is
  // chosen by the first call after the folder was empty. Errors: those of the file system.
  absl::StatusOr<std::string> Id() const;

  const std::string& path() const { return path_; }
  std::string log() const;
  std::string checkpoints() const;
  std::string events() const;
  std::string profile() const;

 private:
  RunFolder(std::string path, int lock);

  const std::string path_;
  const FileDescriptor lock_;
};

// The file with the log of the run in a folder, for readers that do not lock it.
std::string RunLogPath(const std::string& folder);
// Returns the id of the run in a folder. Errors: NOT_FOUND if none has begun there; those of the
// file system.
absl::StatusOr<std::string> RunIdIn(const std::string& folder);
// The folder with its checkpoints.
std::string CheckpointsPath(const std::string& folder);

}  // namespace tessera
