// Queries about mapped files, for tests.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tessera {

// Returns the resident size, in KiB, of the map that begins at `data`; negative if there is no such
// map.
inline int ResidentSize(const char* data) {
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  while (std::getline(smaps, line)) {
    if (std::strtoull(line.c_str(), nullptr, 16) != reinterpret_cast<uintptr_t>(data)) continue;
    while (std::getline(smaps, line)) {
      if (line.starts_with("Rss:")) return std::atoi(line.c_str() + sizeof("Rss:"));
    }
  }
  return -1;
}

// Returns whether a MappedFile of `path` is a guarded map, not a copy in memory. Some file systems
// grant no leases.
inline bool CanGuard(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool can = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  close(fd);
  return can;
}

}  // namespace tessera
