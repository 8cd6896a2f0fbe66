// FileBacked<T>: a value that is read from files, and again when they change.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "runtime/base/file_stamp.h"
#include "runtime/base/logging.h"

namespace tessera {

// For secrets and certificates, which are replaced while the server runs:
//
//   ASSIGN_OR_RETURN(auto tokens, FileBacked<Tokens>::Open("the tokens", {path}, [path] {
//     return ReadTokens(path);
//   }));
//   const std::shared_ptr<const Tokens> now = tokens->Get();
//
// Get() asks the file system for the stamp of each file, and reads the files only if one has
// changed. If they are missing then or have an error, the last good value stays, and the log says
// so once. Thread-safe.
template <typename T>
class FileBacked {
 public:
  using Reader = std::function<absl::StatusOr<T>()>;

  // Reads the value for the first time. `what` names it in the log. Errors: those of `read`.
  static absl::StatusOr<std::unique_ptr<FileBacked>> Open(std::string what,
                                                          std::vector<std::string> files,
                                                          Reader read) {
    std::unique_ptr<FileBacked> result(
        new FileBacked(std::move(what), std::move(files), std::move(read)));
    absl::MutexLock lock(&result->mu_);
    const absl::Status status = result->Read(result->Stamps());
    if (!status.ok()) return status;
    return result;
  }

  std::shared_ptr<const T> Get() {
    std::vector<FileStamp> stamps = Stamps();
    {
      absl::ReaderMutexLock lock(&mu_);
      if (settled_ && stamps == stamps_) return value_;
    }
    absl::MutexLock lock(&mu_);
    const bool changed = stamps != stamps_;
    const bool had_error = !error_.empty();
    const absl::Status status = Read(std::move(stamps));
    const std::string error(status.message());
    if (!status.ok() && error != error_) {
      LOG(ERROR) << what_ << " cannot be read again, the last ones stay in force: " << error;
    } else if (status.ok() && (changed || had_error)) {
      LOG(INFO) << what_ << " were read again";
    }
    error_ = error;
    return value_;
  }

 private:
  FileBacked(std::string what, std::vector<std::string> files, Reader read)
      : what_(std::move(what)), files_(std::move(files)), read_(std::move(read)) {}

  std::vector<FileStamp> Stamps() const {
    std::vector<FileStamp> stamps;
    stamps.reserve(files_.size());
    for (const std::string& file : files_) stamps.push_back(FileStamp::Of(file));
    return stamps;
  }

  // `stamps` are from before the call, so that a change during it is seen by the next one.
  absl::Status Read(std::vector<FileStamp> stamps) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    settled_ = std::all_of(stamps.begin(), stamps.end(),
                           [now = absl::Now()](const FileStamp& s) { return s.IsSettled(now); });
    stamps_ = std::move(stamps);
    absl::StatusOr<T> value = read_();
    if (value.ok()) value_ = std::make_shared<const T>(*std::move(value));
    return value.status();
  }

  const std::string what_;
  const std::vector<std::string> files_;
  const Reader read_;
  absl::Mutex mu_;
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mu_);
  std::vector<FileStamp> stamps_ ABSL_GUARDED_BY(mu_);  // when value_ was read or could not be
  bool settled_ ABSL_GUARDED_BY(mu_) = false;           // see FileStamp::IsSettled()
  std::string error_ ABSL_GUARDED_BY(mu_);              // of the last reading, empty if it was good
};

}  // namespace tessera
