#include "runtime/base/cpu_count.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

// Returns how many cores a quota of time in each period is, nullopt if these are no limit.
std::optional<int> CoresOfQuota(absl::string_view quota, absl::string_view period) {
  int64_t time, interval;
  // A group without limit has the quota "max" in version 2 and -1 in version 1.
  if (!absl::SimpleAtoi(quota, &time) || !absl::SimpleAtoi(period, &interval)) return std::nullopt;
  if (time <= 0 || interval <= 0) return std::nullopt;
  return static_cast<int>(std::min<int64_t>((time - 1) / interval + 1, 1 << 16));
}

std::optional<int> CoresOfDirectory(const std::string& directory, bool version_2) {
  if (version_2) {
    const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(directory, "/cpu.max"));
    if (!text.ok()) return std::nullopt;
    const std::vector<std::string> words = absl::StrSplit(*text, ' ');
    return words.size() == 2 ? CoresOfQuota(words[0], words[1]) : std::nullopt;
  }
  const absl::StatusOr<std::string> quota = ReadFile(absl::StrCat(directory, "/cpu.cfs_quota_us"));
  const absl::StatusOr<std::string> period =
      ReadFile(absl::StrCat(directory, "/cpu.cfs_period_us"));
  return quota.ok() && period.ok() ? CoresOfQuota(*quota, *period) : std::nullopt;
}

}  // namespace

int CoresOfControlGroups(absl::string_view memberships, const std::string& root) {
  int least = 0;
  // Each line is ID:CONTROLLERS:PATH; version 2 has no controllers.
  for (const absl::string_view line : absl::StrSplit(memberships, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool version_2 = fields[1].empty();
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    const bool has_cpu =
        std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end();
    if (!version_2 && !has_cpu) continue;
    const std::string mount = version_2 ? root : absl::StrCat(root, "/", fields[1]);
    // In a container the path may be that of the host, which is not there: only its parents are.
    for (std::string path(fields[2]);; path.erase(path.rfind('/'))) {
      if (path == "/") path.clear();
      const std::optional<int> cores = CoresOfDirectory(absl::StrCat(mount, path), version_2);
      if (cores && (least == 0 || *cores < least)) least = *cores;
      if (path.empty() || path[0] != '/') break;
    }
  }
  return least;
}

int AvailableCores() {
  static const int cores = [] {
    const int schedulable = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const absl::StatusOr<std::string> memberships = ReadFile("/proc/self/cgroup");
    const int limit = memberships.ok() ? CoresOfControlGroups(*memberships, "/sys/fs/cgroup") : 0;
    return limit > 0 ? std::min(limit, schedulable) : schedulable;
  }();
  return cores;
}

}  // namespace tessera
