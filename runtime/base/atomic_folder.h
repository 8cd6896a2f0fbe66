// AtomicFolder: writes a folder that appears under its name complete, or not at all.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera {

// A temporary folder beside its target, which Commit() renames.
//
//   ASSIGN_OR_RETURN(AtomicFolder folder, AtomicFolder::Create("/models/resnet/7"));
//   RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder.temporary(), "saved_model.pb"), bytes));
//   RETURN_IF_ERROR(folder.Commit());  // without this call the temporary folder is removed
//
// The temporary name, "7.tmp.PID.N", is no version number, so that servers which watch the parent
// ignore it. Used by one thread at a time.
class AtomicFolder {
 public:
  // Creates missing parents, and removes temporary folders for the same parent whose writers have
  // died: a living one holds a lock (flock) on its own. Errors: ALREADY_EXISTS if there is a file
  // or folder at `path`; PERMISSION_DENIED.
  static absl::StatusOr<AtomicFolder> Create(const std::string& path);
  AtomicFolder(AtomicFolder&& other) noexcept;
  AtomicFolder& operator=(AtomicFolder&&) = delete;
  ~AtomicFolder();

  // Returns the folder of the contents until Commit().
  const std::string& temporary() const { return temporary_; }
  // Syncs the folder and those in it to the disk, not the files, whose writers have synced them,
  // and gives it its name. Must be the last call. Errors: ALREADY_EXISTS if the name was taken
  // meanwhile. After an error the temporary folder is gone once this object is.
  absl::Status Commit();

 private:
  AtomicFolder(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_;
  std::string temporary_;
  int fd_;  // holds the lock; negative once there is nothing to remove
};

}  // namespace tessera
