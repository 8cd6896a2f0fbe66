// Log lines to stderr: `2026-01-31 12:00:00.123456 I manager.cc:42] text`.
//
//   LOG(INFO) << "serving model '" << name << "' version " << version;
//   CHECK(index < size) << "our own bug, never bad input";
#pragma once

#include <sstream>

namespace tessera {

enum class LogSeverity { kInfo, kWarning, kError, kFatal };

// One line, written as a whole in the destructor; kFatal then aborts. Thread-safe across lines.
class LogMessage {
 public:
  LogMessage(LogSeverity severity, const char* file, int line);
  ~LogMessage();
  std::ostream& stream() { return stream_; }

 private:
  const LogSeverity severity_;
  std::ostringstream stream_;
};

// Lines below this severity are dropped. Initially kInfo, or TF_CPP_MIN_LOG_LEVEL (0 to 3).
void SetMinLogSeverity(LogSeverity severity);

// Makes a line of log an expression of type void.
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
// An expression, so that an `else` after it is the caller's.
#define CHECK(condition)             \
  __builtin_expect(!!(condition), 1) \
      ? (void)0                      \
      : ::tessera::LogVoidify() & LOG(FATAL) << "check failed: " #condition " "
