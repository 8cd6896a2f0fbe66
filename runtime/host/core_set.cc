#include "runtime/host/core_set.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <vector>

#include "runtime/base/cpu_count.h"

namespace tessera {

CoreSet CoreSet::OfThisThread() {
  CoreSet set;
  if (sched_getaffinity(0, sizeof(set.cores_), &set.cores_) != 0) CPU_ZERO(&set.cores_);
  return set;
}

CoreSet CoreSet::Share(double share) const {
  std::vector<int> all;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (Contains(core)) all.push_back(core);
  }
  CoreSet some;
  if (all.empty()) return some;
  // A limit of time may allow fewer cores than there are to run on.
  const int usable = std::min(static_cast<int>(all.size()), AvailableCores());
  const auto wanted = static_cast<size_t>(std::lround(share * usable));
  const size_t count = std::clamp<size_t>(wanted, 1, all.size());
  // Neighbouring cores are chosen, which share caches.
  const size_t first = static_cast<size_t>(getpid()) % all.size();
  for (size_t i = 0; i < count; ++i) CPU_SET(all[(first + i) % all.size()], &some.cores_);
  return some;
}

absl::Status CoreSet::BindThisThread() const {
  if (empty() || sched_setaffinity(0, sizeof(cores_), &cores_) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot bind a thread to some of the cores");
}

}  // namespace tessera
