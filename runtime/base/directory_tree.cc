#include "runtime/base/directory_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using FileId = std::pair<dev_t, ino_t>;

FileId IdOf(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// The limit of directories that are listed by a path through a symbolic link. Links between n
// directories make paths in the order of n!, or 2^n where each has two links to the next one.
constexpr int kMaxLinkedDirectories = 1000;

bool IsLink(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

class TreeReader {
 public:
  explicit TreeReader(const std::string& root) : root_(root) {}

  // Adds what is in a directory; `directory` is relative to the root.
  absl::Status Add(const std::string& directory, const FileId& id) {
    around_.push_back(id);
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     ListDirectory(JoinPath(root_, directory)));
    for (const std::string& name : names) RETURN_IF_ERROR(AddEntry(JoinPath(directory, name)));
    around_.pop_back();
    return absl::OkStatus();
  }
  DirectoryTree Take() { return std::move(tree_); }

 private:
  absl::Status AddEntry(const std::string& name) {
    const std::string path = JoinPath(root_, name);
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      const bool leads_nowhere = errno == ENOENT || errno == ELOOP;
      return leads_nowhere ? absl::OkStatus() : ErrnoStatus(errno, "look at", path);
    }
    if (S_ISREG(info.st_mode)) tree_.files.push_back(name);
    if (!S_ISDIR(info.st_mode)) return absl::OkStatus();
    const FileId id = IdOf(info);
    if (std::find(around_.begin(), around_.end(), id) != around_.end()) return absl::OkStatus();
    const bool is_link = IsLink(path);
    num_links_around_ += is_link;
    if (num_links_around_ > 0 && ++num_linked_ > kMaxLinkedDirectories) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "symbolic links below ", root_, " lead to over ", kMaxLinkedDirectories,
          " directories, lastly to ", name, ": remove those that lead from one to another"));
    }
    tree_.directories.push_back(name);
    RETURN_IF_ERROR(Add(name, id));
    num_links_around_ -= is_link;
    return absl::OkStatus();
  }

  const std::string root_;
  std::vector<FileId> around_;  // the root and the directories below it that are being read
  int num_links_around_ = 0;    // those of `around_` that a symbolic link names
  int num_linked_ = 0;          // directories with a symbolic link in their path
  DirectoryTree tree_;
};

}  // namespace

absl::StatusOr<DirectoryTree> ReadDirectoryTree(const std::string& root) {
  struct stat info;
  if (::stat(root.c_str(), &info) != 0) return ErrnoStatus(errno, "list", root);
  TreeReader reader(root);
  RETURN_IF_ERROR(reader.Add("", IdOf(info)));
  return reader.Take();
}

}  // namespace tessera
