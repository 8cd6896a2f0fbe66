#include "serving/logging/rotated_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/append_whole.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

// The time in the name of a file, and its form: 'd' is a digit.
constexpr char kTimeFormat[] = "%Y%m%dT%H%M%E6SZ";
constexpr absl::string_view kTimeForm = "ddddddddTdddddd.ddddddZ";

bool IsTime(absl::string_view text) {
  if (text.size() != kTimeForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kTimeForm[i] == 'd' ? !absl::ascii_isdigit(text[i]) : text[i] != kTimeForm[i]) return false;
  }
  return true;
}

}  // namespace

RotatedFiles::RotatedFiles(std::string prefix, std::string suffix, const RotationOptions& options)
    : prefix_(std::move(prefix)), suffix_(std::move(suffix)), options_(options) {}

absl::Status RotatedFiles::Append(absl::string_view bytes) {
  const absl::Time now = absl::Now();
  if (MustBegin(bytes.size(), now)) RETURN_IF_ERROR(Begin(now));
  RETURN_IF_ERROR(AppendWhole(file_->get(), bytes, size_, path_));
  size_ += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

bool RotatedFiles::MustBegin(size_t bytes, absl::Time now) const {
  if (file_ == nullptr || now >= begun_ + options_.max_file_age) return true;
  if (size_ > 0 && size_ + static_cast<int64_t>(bytes) > options_.max_file_bytes) return true;
  struct stat info;
  return ::fstat(file_->get(), &info) == 0 && info.st_nlink == 0;
}

absl::Status RotatedFiles::Begin(absl::Time now) {
  file_.reset();
  RETURN_IF_ERROR(CreateDirectories(std::filesystem::path(prefix_).parent_path()));
  while (true) {
    path_ = absl::StrCat(prefix_, "-", absl::FormatTime(kTimeFormat, now, absl::UTCTimeZone()), ".",
                         suffix_);
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
      file_ = std::make_unique<FileDescriptor>(fd);
      begun_ = now;
      size_ = 0;
      RemoveOld();
      return absl::OkStatus();
    }
    if (errno != EEXIST) return ErrnoStatus(errno, "create", path_);
    now += absl::Microseconds(1);
  }
}

std::vector<std::string> RotatedFiles::Paths() const {
  const std::filesystem::path prefix(prefix_);
  const std::string folder = prefix.parent_path();
  const std::string start = absl::StrCat(prefix.filename().string(), "-");
  const std::string end = absl::StrCat(".", suffix_);
  std::vector<std::string> paths;
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(folder);
  if (!names.ok()) return paths;
  for (const std::string& name : *names) {
    absl::string_view time = name;
    if (absl::ConsumePrefix(&time, start) && absl::ConsumeSuffix(&time, end) && IsTime(time)) {
      paths.push_back(JoinPath(folder, name));
    }
  }
  return paths;
}

void RotatedFiles::RemoveOld() const {
  if (options_.max_files <= 0) return;
  // The file that was just begun is not the last one by name where the clock was set back.
  std::vector<std::string> others = Paths();
  std::erase_if(others, [begun = std::filesystem::path(path_).filename()](const auto& path) {
    return std::filesystem::path(path).filename() == begun;
  });
  for (size_t i = 0; i + options_.max_files <= others.size(); ++i) {
    const absl::Status status = RemoveFile(others[i]);
    if (!status.ok() && !absl::IsNotFound(status)) LOG(WARNING) << status.message();
  }
}

}  // namespace tessera::serving
