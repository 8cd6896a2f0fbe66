// RotatedFiles: a log as a row of files, of which the newest grows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "runtime/base/file_descriptor.h"
#include "serving/logging/log_file.h"

namespace tessera::serving {

// When a new file begins, and how many are kept.
struct RotationOptions {
  // A file does not grow beyond this, except by a single record that is larger.
  int64_t max_file_bytes = int64_t{64} << 20;
  // A file that was begun longer ago is not appended to.
  absl::Duration max_file_age = absl::Hours(1);
  // The oldest files of the prefix are removed, whichever process wrote them, when a file begins;
  // zero: none are.
  int max_files = 24;
};

// Files are named PREFIX-20260131T120000.123456Z.SUFFIX, by the time in UTC when they begin, so
// that their names are in the order of time. The folder is created if it is missing. A file that
// somebody removed, or that was begun by another process, is not appended to. A prefix belongs to
// one log of one process.
class RotatedFiles : public LogFile {
 public:
  // `suffix` is without its dot.
  RotatedFiles(std::string prefix, std::string suffix, const RotationOptions& options);

  absl::Status Append(absl::string_view bytes) override;

  // Returns the paths of the files that are there, oldest first.
  std::vector<std::string> Paths() const;

 private:
  bool MustBegin(size_t bytes, absl::Time now) const;
  absl::Status Begin(absl::Time now);
  void RemoveOld() const;

  const std::string prefix_;
  const std::string suffix_;
  const RotationOptions options_;
  std::unique_ptr<FileDescriptor> file_;  // null before the first record
  std::string path_;
  absl::Time begun_;
  int64_t size_ = 0;
};

}  // namespace tessera::serving
