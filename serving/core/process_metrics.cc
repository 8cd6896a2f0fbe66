#include "serving/core/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {
namespace {

using Value = std::optional<double>;

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns the number of a line such as "VmRSS:     1234 kB".
Value StatusField(absl::string_view name) {
  const std::string status = ReadAll("/proc/self/status");
  for (const absl::string_view line : absl::StrSplit(status, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(": \t"), absl::SkipEmpty());
    double number;
    if (words.size() >= 2 && words[0] == name && absl::SimpleAtod(words[1], &number)) return number;
  }
  return std::nullopt;
}

Value StatusBytes(absl::string_view name) {
  const Value kilobytes = StatusField(name);
  return kilobytes ? Value(*kilobytes * 1024) : std::nullopt;
}

Value ResidentBytes() { return StatusBytes("VmRSS"); }
Value AnonymousBytes() { return StatusBytes("RssAnon"); }
Value NumThreads() { return StatusField("Threads"); }

// Returns the limit of the control group that the process sees as its own: version 2, else 1.
Value MemoryLimit() {
  // Version 1 says "no limit" by a number near 2^63.
  constexpr double kNoLimit = 1e18;
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double limit;
    if (absl::SimpleAtod(ReadAll(path), &limit) && limit < kNoLimit) return limit;
  }
  return std::nullopt;
}

Value CpuSeconds() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Value OpenFiles() {
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return std::nullopt;
  int entries = 0;
  while (readdir(directory) != nullptr) ++entries;
  closedir(directory);
  return entries - 3;  // ".", ".." and the directory itself
}

Value MaxOpenFiles() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

// Returns when the process was started: field 22 of its "stat", in clock ticks since the system
// was.
Value StartSeconds() {
  constexpr size_t kStartAfterName = 22 - 3;
  const std::string stat = ReadAll("/proc/self/stat");
  // The second field is the name, in parentheses, which may hold blanks and parentheses.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  double ticks;
  if (fields.size() <= kStartAfterName || !absl::SimpleAtod(fields[kStartAfterName], &ticks)) {
    return std::nullopt;
  }
  for (const absl::string_view line : absl::StrSplit(ReadAll("/proc/stat"), '\n')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    double boot;
    if (words.first == "btime" && absl::SimpleAtod(words.second, &boot)) {
      return boot + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
  }
  return std::nullopt;
}

struct ProcessMetric {
  const char* name;
  prometheus::MetricType type;
  Value (*read)();
};

constexpr ProcessMetric kMetrics[] = {
    {"resident_memory_bytes", prometheus::MetricType::Gauge, ResidentBytes},
    {"anonymous_memory_bytes", prometheus::MetricType::Gauge, AnonymousBytes},
    {"memory_limit_bytes", prometheus::MetricType::Gauge, MemoryLimit},
    {"cpu_seconds", prometheus::MetricType::Counter, CpuSeconds},
    {"open_files", prometheus::MetricType::Gauge, OpenFiles},
    {"max_open_files", prometheus::MetricType::Gauge, MaxOpenFiles},
    {"threads", prometheus::MetricType::Gauge, NumThreads},
    {"start_seconds", prometheus::MetricType::Gauge, StartSeconds},
};

}  // namespace

std::vector<std::unique_ptr<MetricsRegistry::Collection>> CollectProcess(
    MetricsRegistry* registry) {
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections;
  for (const ProcessMetric& metric : kMetrics) {
    collections.push_back(registry->Collect(absl::StrCat("/tessera/serving/process_", metric.name),
                                            metric.type, {}, [read = metric.read] {
                                              std::vector<MetricSample> samples;
                                              if (const Value value = read())
                                                samples.push_back({.value = *value});
                                              return samples;
                                            }));
  }
  return collections;
}

}  // namespace tessera::serving
