#include "runtime/base/logging.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
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

}  // namespace

LogMessage::LogMessage(LogSeverity severity, const char* file, int line) : severity_(severity) {
  stream_ << absl::FormatTime("%Y-%m-%d %H:%M:%E6S ", absl::Now(), absl::LocalTimeZone())
          << "IWEF"[static_cast<int>(severity)] << ' ' << BaseName(file) << ':' << line << "] ";
}

LogMessage::~LogMessage() {
  const bool fatal = severity_ == LogSeverity::kFatal;
  if (fatal || static_cast<int>(severity_) >= MinSeverity().load(std::memory_order_relaxed)) {
    stream_ << '\n';
    const std::string line = stream_.str();
    // One write a line: lines of several threads, or of several processes with the same stderr, do
    // not mix.
    for (size_t done = 0; done < line.size();) {
      const ssize_t n = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
  }
  if (fatal) std::abort();
}

void SetMinLogSeverity(LogSeverity severity) {
  MinSeverity().store(static_cast<int>(severity), std::memory_order_relaxed);
}

}  // namespace tessera
