#include "runtime/training/job/writable_folder.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/training/job/failure.h"

namespace tessera {
namespace {

// Returns whether a folder shows what the kernel knows, such as /proc. access(2) lets root write
// there, but nobody can make a file.
bool IsOfTheKernel(const std::filesystem::path& folder) {
  struct statfs info;
  return ::statfs(folder.c_str(), &info) == 0 &&
         (info.f_type == PROC_SUPER_MAGIC || info.f_type == SYSFS_MAGIC);
}

}  // namespace

absl::Status CheckWritableFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::path nearest = std::filesystem::absolute(path, error).lexically_normal();
  while (!error && !std::filesystem::exists(nearest, error) && nearest.has_relative_path()) {
    error.clear();  // a file among the parents is an error here, and is found on the way up
    nearest = nearest.parent_path();
  }
  if (error) return absl::OkStatus();  // whoever writes gets the error with its cause
  if (!std::filesystem::is_directory(nearest, error)) {
    return WithFailure(absl::FailedPreconditionError(
                           absl::StrCat("'", path, "' cannot be a folder, since '",
                                        nearest.string(), "' is a file; give another path")),
                       RunFailure::kWrite);
  }
  if (IsOfTheKernel(nearest)) {
    return WithFailure(absl::FailedPreconditionError(absl::StrCat(
                           "'", path, "' cannot be a folder, since the kernel lets ",
                           "nobody make one in '", nearest.string(), "'; give another path")),
                       RunFailure::kWrite);
  }
  if (::access(nearest.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return WithFailure(absl::PermissionDeniedError(
                         absl::StrCat("'", path, "' cannot be written, since '", nearest.string(),
                                      "' is not writable; give another path, or the right to "
                                      "write there")),
                     RunFailure::kWrite);
}

}  // namespace tessera
