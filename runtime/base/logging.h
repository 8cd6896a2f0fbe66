// Logging to stderr, a line a message: `2026-01-31 12:00:00.123456 I manager.cc:42] text`.
//
//   LOG(INFO) << "serving model '" << name << "' version " << version;
//   CHECK(index < size) << "our own bug, never bad input";
#pragma once

#include <sstream>

namespace tessera {

enum class LogSeverity { kInfo, kWarning, kError, kFatal };

// One log line. The destructor writes it with one call, and then aborts the process if the severity
// is kFatal. Different threads may write lines at the same time.
class LogMessage {
 public:
  LogMessage(LogSeverity severity, const char* file, int line);
  ~LogMessage();
  std::ostream& stream() { return stream_; }

 private:
  const LogSeverity severity_;
  std::ostringstream stream_;
};

// Drops all lines below this severity from now on. The initial value is kInfo, or what the
// environment variable TF_CPP_MIN_LOG_LEVEL says (0 to 3).
void SetMinLogSeverity(LogSeverity severity);

// Turns the stream expression of a log line into an expression of type void, for CHECK.
struct LogVoidify {
  void operator&(std::ostream&) const {}
};

namespace log_severity {
inline constexpr LogSeverity INFO = LogSeverity::kInfo, WARNING = LogSeverity::kWarning,
                             ERROR = LogSeverity::kError, FATAL = LogSeverity::kFatal;
}  // namespace log_severity

}  // namespace tessera

#define LOG(severity) \
  ::tessera::LogMessage(::tessera::log_severity::severity, __FILE__, __LINE__).stream()
// Aborts with a log line unless `condition` holds. It is an expression, so that an `else` after it
// belongs to the caller's `if`.
#define CHECK(condition)             \
  __builtin_expect(!!(condition), 1) \
      ? (void)0                      \
      : ::tessera::LogVoidify() & LOG(FATAL) << "check failed: " #condition " "
