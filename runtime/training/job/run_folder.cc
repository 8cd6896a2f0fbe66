#include "runtime/training/job/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/training/job/failure.h"

namespace tessera {
namespace {

constexpr char kLock[] = "lock";
constexpr char kEarlier[] = "earlier";
constexpr char kId[] = "id";
constexpr char kLog[] = "log.jsonl";
constexpr char kCheckpoints[] = "checkpoints";
constexpr char kEvents[] = "events";
constexpr char kProfile[] = "profile";

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

// "a process of this user", or what the holder wrote.
absl::Status InUse(const std::string& path, const std::string& lock) {
  absl::StatusOr<std::string> holder = ReadFile(lock);
  const std::string text(holder.ok() ? absl::StripAsciiWhitespace(*holder) : "");
  const std::string who = text.empty() ? "another process" : absl::StrCat("process ", text);
  return WithFailure(absl::FailedPreconditionError(absl::StrCat(
                         "'", path, "' is in use: ", who,
                         " trains there. Wait for it, stop it, or give this job another folder")),
                     RunFailure::kFolderInUse);
}

}  // namespace

RunFolder::RunFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

absl::StatusOr<std::unique_ptr<RunFolder>> RunFolder::Open(const std::string& path) {
  RETURN_IF_ERROR(CreateDirectories(path));
  const std::string lock = JoinPath(path, kLock);
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "open", lock);
  auto folder = std::unique_ptr<RunFolder>(new RunFolder(path, fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return InUse(path, lock);
    return ErrnoStatus(errno, "lock", lock);
  }
  const std::string holder = absl::StrCat(::getpid(), " on ", HostName(), "\n");
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, holder.data(), holder.size(), 0) != static_cast<ssize_t>(holder.size())) {
    return ErrnoStatus(errno, "write", lock);
  }
  return folder;
}

absl::Status RunFolder::SetAside() {
  std::string target;
  for (const char* const name : {kId, kLog, kCheckpoints, kEvents, kProfile}) {
    if (!FileExists(JoinPath(path_, name))) continue;
    if (target.empty()) {
      int number = 1;
      const std::string earlier = JoinPath(path_, kEarlier);
      while (FileExists(JoinPath(earlier, absl::StrCat(number)))) ++number;
      target = JoinPath(earlier, absl::StrCat(number));
      RETURN_IF_ERROR(CreateDirectories(target));
    }
    RETURN_IF_ERROR(RenameFile(JoinPath(path_, name), JoinPath(target, name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RunFolder::Id() const {
  absl::StatusOr<std::string> chosen = RunIdIn(path_);
  if (!absl::IsNotFound(chosen.status())) return chosen;
  std::random_device random;
  const std::string id =
      absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(path_, kId), id + "\n"));
  return id;
}

std::string RunFolder::log() const { return RunLogPath(path_); }
std::string RunFolder::checkpoints() const { return CheckpointsPath(path_); }
std::string RunFolder::events() const { return JoinPath(path_, kEvents); }
std::string RunFolder::profile() const { return JoinPath(path_, kProfile); }

absl::StatusOr<std::string> RunIdIn(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(JoinPath(folder, kId)));
  return std::string(absl::StripAsciiWhitespace(text));
}

std::string RunLogPath(const std::string& folder) { return JoinPath(folder, kLog); }
std::string CheckpointsPath(const std::string& folder) { return JoinPath(folder, kCheckpoints); }

}  // namespace tessera
