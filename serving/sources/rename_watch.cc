#include "serving/sources/rename_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <climits>
#include <utility>

#include "absl/algorithm/container.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {

RenameWatch::RenameWatch() : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

RenameWatch::~RenameWatch() {
  if (fd_ >= 0) close(fd_);
}

void RenameWatch::Watch(const std::string& directory) {
  if (fd_ < 0) return;
  const int watch = inotify_add_watch(fd_, directory.c_str(), IN_MOVED_TO | IN_ONLYDIR);
  if (watch < 0) return;
  const auto [it, is_new] = watches_.try_emplace(directory, watch);
  if (is_new || it->second == watch) return;
  RemoveIfUnused(std::exchange(it->second, watch));
}

void RenameWatch::Forget(const std::string& directory) {
  const auto it = watches_.find(directory);
  if (it == watches_.end()) return;
  const int watch = it->second;
  watches_.erase(it);
  RemoveIfUnused(watch);
}

void RenameWatch::RemoveIfUnused(int watch) {
  const bool is_used =
      absl::c_any_of(watches_, [watch](const auto& entry) { return entry.second == watch; });
  if (!is_used) inotify_rm_watch(fd_, watch);
}

std::set<std::string> RenameWatch::TakeRenamed() {
  std::set<std::string> renamed;
  if (fd_ < 0) return renamed;
  alignas(inotify_event) char buffer[16 * (sizeof(inotify_event) + NAME_MAX + 1)];
  ssize_t size;
  while ((size = read(fd_, buffer, sizeof(buffer))) > 0) {
    for (const char* at = buffer; at < buffer + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_MOVED_TO) == 0) continue;
      for (const auto& [directory, watch] : watches_) {
        if (watch == event->wd) renamed.insert(JoinPath(directory, event->name));
      }
    }
  }
  return renamed;
}

}  // namespace tessera::serving
