#include "serving/sources/version_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "absl/hash/hash.h"

namespace tessera::serving {
namespace {

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, DirectoryCloser>;

void Mix(uint64_t value, uint64_t* fingerprint) {
  *fingerprint = absl::HashOf(*fingerprint, value);
}

uint64_t HashOfFile(const struct stat& info) {
  const bool is_directory = S_ISDIR(info.st_mode);
  // The size and the time of a directory add nothing to what its entries tell.
  return absl::HashOf(info.st_dev, info.st_ino, info.st_mode, info.st_uid, info.st_gid,
                      is_directory ? 0 : info.st_size, is_directory ? 0 : info.st_mtim.tv_sec,
                      is_directory ? 0 : info.st_mtim.tv_nsec);
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

// Looks at everything below the directory `fd`, and closes it.
void LookInside(int fd, VersionFolder* folder) {
  Directory directory(fdopendir(fd));
  if (directory == nullptr) {
    Mix(errno, &folder->fingerprint);
    close(fd);
    return;
  }
  for (const std::string& name : Entries(directory.get())) {
    Mix(absl::HashOf(name), &folder->fingerprint);
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
      LookInside(child, folder);
    } else {
      Mix(errno, &folder->fingerprint);
    }
  }
}

}  // namespace

VersionFolder LookAtVersionFolder(const std::string& path) {
  VersionFolder folder;
  folder.last_change = absl::InfinitePast();
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    Mix(errno, &folder.fingerprint);
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
  LookInside(fd, &folder);
  folder.finished = absl::TimeFromTimespec(info.st_ctim) > folder.last_change;
  return folder;
}

}  // namespace tessera::serving
