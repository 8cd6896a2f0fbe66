// RenameWatch: sees what is renamed into directories.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tessera::serving {

// Tells which entries of directories were renamed into them, which timestamps cannot always tell:
// the clock of a file system ticks every few milliseconds only. Sees what happens on this machine
// alone: on network file systems and where the kernel refuses watches, nothing is ever told.
//
// Not thread-safe.
class RenameWatch {
 public:
  RenameWatch();
  ~RenameWatch();
  RenameWatch(const RenameWatch&) = delete;
  RenameWatch& operator=(const RenameWatch&) = delete;

  // Watches a directory from now on. Call it again and again: the directory that has this path may
  // be another one by now.
  void Watch(const std::string& directory);
  // Watches it no more.
  void Forget(const std::string& directory);

  // Returns the paths that were renamed into place since the last call.
  std::set<std::string> TakeRenamed();

 private:
  // Ends a watch that no path has any more.
  void RemoveIfUnused(int watch);

  int fd_;                              // of inotify; negative if there is none
  std::map<std::string, int> watches_;  // by path; several paths may lead to one directory
};

}  // namespace tessera::serving
