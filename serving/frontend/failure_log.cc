#include "serving/frontend/failure_log.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);

// Longer names and messages are cut: clients choose them.
constexpr size_t kMaxTextBytes = 1024;

// Returns text on one line. Apostrophes stay as they are.
std::string Escaped(absl::string_view text) {
  const bool is_cut = text.size() > kMaxTextBytes;
  return absl::StrCat(
      absl::StrReplaceAll(absl::Utf8SafeCEscape(text.substr(0, kMaxTextBytes)), {{"\\'", "'"}}),
      is_cut ? "..." : "");
}

}  // namespace

void FailureLog::NoteFailure(absl::string_view protocol, absl::string_view method,
                             absl::string_view model, const absl::Status& status,
                             absl::string_view trace_id, absl::Time now) {
  int64_t left_out = 0;
  {
    absl::MutexLock lock(&mu_);
    if (now < last_line_ + kInterval) {
      ++left_out_;
      return;
    }
    last_line_ = now;
    left_out = std::exchange(left_out_, 0);
  }
  // Escaped, because clients choose the name, and errors quote them: a line is a line.
  LOG(WARNING) << "request failed: " << protocol << (method.empty() ? "" : " ") << method
               << (model.empty() ? "" : absl::StrCat(" of model '", Escaped(model), "'")) << ": "
               << Escaped(status.ToString())
               << (trace_id.empty() ? "" : absl::StrCat("; trace ", trace_id))
               << (left_out == 0
                       ? ""
                       : absl::StrCat("; ", left_out, " more failed since the last line"));
}

}  // namespace tessera::serving
