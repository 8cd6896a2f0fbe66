#include "runtime/training/job/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "runtime/base/append_whole.h"
#include "runtime/base/status.h"
#include "runtime/training/job/failure.h"

namespace tessera {

RunLog::RunLog(std::string path, int fd, RunObserver* observer)
    : path_(std::move(path)), file_(fd), observer_(observer) {}

absl::StatusOr<std::unique_ptr<RunLog>> RunLog::Open(const std::string& path,
                                                     RunObserver* observer) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return WithFailure(ErrnoStatus(errno, "open", path), RunFailure::kWrite);
  auto log = std::unique_ptr<RunLog>(new RunLog(path, fd, observer));
  struct stat facts;
  char last = '\n';
  if (::fstat(fd, &facts) == 0 && facts.st_size > 0 &&
      ::pread(fd, &last, 1, facts.st_size - 1) == 1 && last != '\n') {
    RETURN_IF_ERROR(WithFailure(AppendWhole(fd, "\n", facts.st_size, path), RunFailure::kWrite));
  }
  return log;
}

absl::Status RunLog::Write(const RunRecord& record) {
  if (observer_ != nullptr) observer_->OnRecord(record);
  struct stat facts;
  if (::fstat(file_.get(), &facts) != 0) return ErrnoStatus(errno, "stat", path_);
  return WithFailure(AppendWhole(file_.get(), ToJson(record), facts.st_size, path_),
                     RunFailure::kWrite);
}

}  // namespace tessera
