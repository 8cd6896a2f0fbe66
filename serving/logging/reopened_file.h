// ReopenedFile: a log as one file that others rotate.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/base/file_descriptor.h"
#include "serving/logging/log_file.h"

namespace tessera::serving {

// Appends to a file, or to standard output. A program such as logrotate renames the file, and then
// lets Reopen() be called. Any thread may call that.
class ReopenedFile : public LogFile {
 public:
  // "-" is standard output. Errors: what the system says if the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<ReopenedFile>> Open(const std::string& path);

  // Makes the next Append() open the path again, and create the file if it is not there.
  void Reopen() { is_stale_.store(true, std::memory_order_relaxed); }

  absl::Status Append(absl::string_view bytes) override;
  void StopWaiting() override;

 private:
  ReopenedFile(std::string path, int stopped) : path_(std::move(path)), stopped_(stopped) {}
  absl::Status OpenAgain();
  absl::Status AppendToReader(absl::string_view bytes) const;

  const std::string path_;
  const FileDescriptor stopped_;  // an eventfd, which can be read after StopWaiting()
  std::unique_ptr<FileDescriptor> file_;
  std::atomic<bool> is_stale_{false};
};

}  // namespace tessera::serving
