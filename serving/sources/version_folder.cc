#include "serving/sources/version_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "serving/core/stable_hash.h"

namespace tessera::serving {
namespace {

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, DirectoryCloser>;

void Mix(uint64_t value, uint64_t* fingerprint) { *fingerprint = StableHash(*fingerprint, value); }

uint64_t HashOfFile(const struct stat& info) {
  uint64_t hash = 0;
  // The number of the device is left out, because a file system that is mounted anew may get
  // another one.
  Mix(info.st_ino, &hash);
  Mix(info.st_mode, &hash);
  Mix(info.st_uid, &hash);
  Mix(info.st_gid, &hash);
  // The size and the time of a directory add nothing to what its entries tell.
  if (S_ISDIR(info.st_mode)) return hash;
  Mix(info.st_size, &hash);
  Mix(info.st_mtim.tv_sec, &hash);
  Mix(info.st_mtim.tv_nsec, &hash);
  return hash;
}

// Returns the names of the entries, sorted, because their order on disk means nothing.
std::vector<std::string> Entries(DIR* directory) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsAny(absl::string_view /*name*/) { return true; }

// Looks at the chosen entries of the directory `fd` and everything below them, and closes it.
void LookInside(int fd, absl::FunctionRef<bool(absl::string_view name)> is_chosen,
                VersionFolder* folder) {
  Directory directory(fdopendir(fd));
  if (directory == nullptr) {
    Mix(errno, &folder->fingerprint);
    close(fd);
    return;
  }
  for (const std::string& name : Entries(directory.get())) {
    if (!is_chosen(name)) continue;
    folder->fingerprint = StableHash(folder->fingerprint, absl::string_view(name));
    struct stat info;
    if (fstatat(dirfd(directory.get()), name.c_str(), &info, 0) != 0) {
      Mix(errno, &folder->fingerprint);
      continue;
    }
    Mix(HashOfFile(info), &folder->fingerprint);
    folder->last_change = std::max(folder->last_change, absl::TimeFromTimespec(info.st_ctim));
    if (!S_ISDIR(info.st_mode)) continue;
    const int child = openat(dirfd(directory.get()), name.c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child >= 0) {
      LookInside(child, IsAny, folder);
    } else {
      Mix(errno, &folder->fingerprint);
    }
  }
}

// Looks at the files of a checkpoint. There may be none.
void LookAtCheckpoint(const std::string& prefix, VersionFolder* folder) {
  folder->is_checkpoint = true;
  const size_t slash = prefix.rfind('/');
  const std::string parent = prefix.substr(0, slash + 1);
  const int fd = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    Mix(errno, &folder->fingerprint);
    return;
  }
  const std::string name = prefix.substr(slash + 1);
  const auto is_part = [index = name + ".index", data = name + ".data-"](absl::string_view file) {
    return file == index || absl::StartsWith(file, data);
  };
  LookInside(fd, is_part, folder);
  struct stat state;
  folder->finished = stat((parent + "checkpoint").c_str(), &state) == 0 &&
                     absl::TimeFromTimespec(state.st_ctim) >= folder->last_change;
}

}  // namespace

VersionFolder LookAtVersionFolder(const std::string& path) {
  VersionFolder folder;
  folder.last_change = absl::InfinitePast();
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    const int error = errno;
    Mix(error, &folder.fingerprint);
    if (error == ENOENT) LookAtCheckpoint(path, &folder);
    return folder;
  }
  Mix(HashOfFile(info), &folder.fingerprint);
  if (!S_ISDIR(info.st_mode)) {
    folder.last_change = absl::TimeFromTimespec(info.st_ctim);
    return folder;
  }
  // The time when an entry was last added or removed. Changes of the attributes of the directory
  // itself change st_ctim only.
  folder.last_change = absl::TimeFromTimespec(info.st_mtim);
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    Mix(errno, &folder.fingerprint);
    return folder;
  }
  LookInside(fd, IsAny, &folder);
  folder.finished = absl::TimeFromTimespec(info.st_ctim) > folder.last_change;
  folder.may_be_finished = absl::TimeFromTimespec(info.st_ctim) == folder.last_change;
  return folder;
}

}  // namespace tessera::serving
