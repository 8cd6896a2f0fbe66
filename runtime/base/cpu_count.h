// How many cores a process may use.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns the number of cores that this process may keep busy, at least one: those that it may be
// scheduled on, or fewer if a control group limits the time that it gets, as containers with a
// limit of CPUs do. A limit of 1.5 cores counts as 2. Looks once, at the first call. Thread-safe.
int AvailableCores();

// Returns the cores that control groups allow, rounded up; 0 if there is no limit. `memberships` is
// the contents of /proc/self/cgroup, and `root` is where control groups are mounted. Understands
// version 2 (cpu.max) and version 1 (cpu.cfs_quota_us); the strictest limit on the way up from the
// group of the process counts. See cgroups(7).
int CoresOfControlGroups(absl::string_view memberships, const std::string& root);

}  // namespace tessera
