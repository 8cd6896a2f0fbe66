// ConfigReport: what is wrong with a configuration, gathered while it is read.
//
//   ConfigReport report;
//   ReadConfigFile(path, &options, &report);
//   ServerSettings settings = ReadSettings(options, &report);
//   RETURN_IF_ERROR(report.FirstError());   // for a server that is to start
//   for (const ConfigFinding& finding : report.findings()) ...   // for --check_config
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// The place of a setting. Unknown parts are empty or 0.
struct ConfigPlace {
  std::string file;  // empty: the command line, or the file of --config
  int line = 0;      // from 1
  std::string key;   // a flag's name, or a path in the file: "models[0].base_path"
};

struct ConfigFinding {
  enum Severity {
    kWarning,  // the server starts, and does something else than the configuration may mean
    kError,    // the server does not start, or does not serve a model
  };
  Severity severity = kError;
  ConfigPlace place;
  std::string message;  // what is wrong, and the remedy; without file and line
};

// Not thread-safe.
class ConfigReport {
 public:
  // Adds an error, unless `status` is OK. Its message may begin with "FILE:LINE: " or "KEY: " of
  // `place`.
  void Add(ConfigPlace place, const absl::Status& status);
  // The same with another message in the finding than in FirstError().
  void Add(ConfigPlace place, const absl::Status& status, std::string message);
  // Adds a warning, unless the message is empty.
  void Warn(ConfigPlace place, std::string message);
  // Adds an error, or moves the value to `to`.
  template <typename T, typename To>
  void Take(ConfigPlace place, absl::StatusOr<T> from, To* to) {
    if (from.ok()) {
      *to = *std::move(from);
    } else {
      Add(std::move(place), from.status());
    }
  }

  const std::vector<ConfigFinding>& findings() const { return findings_; }
  std::vector<ConfigFinding>& findings() { return findings_; }
  int count(ConfigFinding::Severity severity) const;
  // Returns the status of the first error that was added; OK if there is none.
  const absl::Status& FirstError() const { return first_error_; }
  // Logs the warnings, and the places of errors in text protos, which their statuses do not name.
  void Log() const;

 private:
  std::vector<ConfigFinding> findings_;
  absl::Status first_error_;
};

}  // namespace tessera::serving
