#include "serving/server/config_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

std::string FileAndLine(const ConfigPlace& place) {
  return absl::StrCat(place.file, ":", place.line, ": ");
}

}  // namespace

void ConfigReport::Add(ConfigPlace place, const absl::Status& status) {
  absl::string_view message = status.message();
  absl::ConsumePrefix(&message, FileAndLine(place));
  absl::ConsumePrefix(&message, absl::StrCat(place.key, ": "));
  Add(std::move(place), status, std::string(message));
}

void ConfigReport::Add(ConfigPlace place, const absl::Status& status, std::string message) {
  if (status.ok()) return;
  if (first_error_.ok()) first_error_ = status;
  findings_.push_back({ConfigFinding::kError, std::move(place), std::move(message)});
}

void ConfigReport::Warn(ConfigPlace place, std::string message) {
  if (message.empty()) return;
  findings_.push_back({ConfigFinding::kWarning, std::move(place), std::move(message)});
}

int ConfigReport::count(ConfigFinding::Severity severity) const {
  return static_cast<int>(
      std::count_if(findings_.begin(), findings_.end(),
                    [&](const ConfigFinding& finding) { return finding.severity == severity; }));
}

void ConfigReport::Log() const {
  for (const ConfigFinding& finding : findings_) {
    if (finding.severity == ConfigFinding::kWarning) {
      LOG(WARNING) << finding.message;
    } else if (finding.place.line > 0) {
      LOG(ERROR) << FileAndLine(finding.place) << finding.message;
    }
  }
}

}  // namespace tessera::serving
