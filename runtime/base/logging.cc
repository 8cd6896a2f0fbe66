#include "runtime/base/logging.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tessera {
namespace {

int InitialMinSeverity() {
  const char* text = std::getenv("TF_CPP_MIN_LOG_LEVEL");
  int level = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &level)) return 0;
  return std::min(std::max(level, 0), 3);
}

std::atomic<int>& MinSeverity() {
  static std::atomic<int> severity{InitialMinSeverity()};
  return severity;
}

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// Returns whether stderr takes another line. A reader that has stopped reading a pipe or a terminal
// is waited for once, and no longer than a second: no thread may stand still for what it has to
// say.
bool IsStderrReady() {
  constexpr int kPatience = 1000;  // in milliseconds
  static std::atomic<bool> is_stalled{false};
  pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const bool is_ready = ::poll(&fd, 1, is_stalled.load() ? 0 : kPatience) != 0;
  is_stalled.store(!is_ready);
  return is_ready;
}

// Lines that stderr did not take, or not as a whole, since it took one.
std::atomic<int64_t> lost_lines{0};

// Writes a line if stderr is ready. A pipe that is takes PIPE_BUF bytes at once without waiting for
// its reader. Returns false if part of the line was not taken.
bool WriteLine(absl::string_view line) {
  while (!line.empty()) {
    if (!IsStderrReady()) return false;
    const ssize_t n = ::write(STDERR_FILENO, line.data(), std::min<size_t>(line.size(), PIPE_BUF));
    if (n <= 0) return true;  // stderr takes nothing at all, as a closed one
    line.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

LogMessage::LogMessage(LogSeverity severity, const char* file, int line) : severity_(severity) {
  stream_ << absl::FormatTime("%Y-%m-%d %H:%M:%E6S ", absl::Now(), absl::LocalTimeZone())
          << "IWEF"[static_cast<int>(severity)] << ' ' << BaseName(file) << ':' << line << "] ";
}

LogMessage::~LogMessage() {
  const bool fatal = severity_ == LogSeverity::kFatal;
  if (fatal || static_cast<int>(severity_) >= MinSeverity().load(std::memory_order_relaxed)) {
    stream_ << '\n';
    // One write a line, but for very long ones: lines of several threads, or of several processes
    // with the same stderr, do not mix.
    std::string line = stream_.str();
    const int64_t lost = IsStderrReady() ? lost_lines.exchange(0) : 0;
    if (lost > 0) {
      line = absl::StrCat("(", lost, " lines of the log are lost: nobody read them)\n", line);
    }
    if (!WriteLine(line)) lost_lines += lost + 1;
  }
  if (fatal) std::abort();
}

void SetMinLogSeverity(LogSeverity severity) {
  MinSeverity().store(static_cast<int>(severity), std::memory_order_relaxed);
}

}  // namespace tessera
