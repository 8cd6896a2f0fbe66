#include "serving/commands/check_config.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/logging.h"
#include "serving/commands/unknown_argument.h"
#include "serving/frontend/json/json_writer.h"
#include "serving/server/config_check.h"
#include "serving/server/platform_config.h"
#include "serving/server/server_settings.h"

namespace tessera::serving {
namespace {

bool IsOnCommandLine(absl::Span<const std::string> args, const std::string& flag) {
  return std::any_of(args.begin(), args.end(), [&](absl::string_view arg) {
    const std::string name = absl::StrReplaceAll(arg.substr(0, arg.find('=')), {{"-", "_"}});
    return name == "__" + flag;
  });
}

// Gives findings about options their lines in the file of --config, if they come from there.
void FindPlaces(const ServerOptions& options, absl::Span<const std::string> args,
                ConfigReport* report) {
  if (options.config.empty()) return;
  for (ConfigFinding& finding : report->findings()) {
    ConfigPlace& place = finding.place;
    if (!place.file.empty() || IsOnCommandLine(args, place.key)) continue;
    place.line = LineOfKey(options.config, place.key);
    if (place.line == 0 && place.key == "batching_mode") {
      place.line = LineOfKey(options.config, "batching.mode");
    }
    if (place.line > 0) place.file = options.config;
  }
}

// Whether an error is about the whole file of --config, so that what it would set is unknown.
bool IsConfigUnread(const ServerOptions& options, const ConfigReport& report) {
  if (options.config.empty()) return false;
  return std::any_of(report.findings().begin(), report.findings().end(),
                     [&](const ConfigFinding& finding) {
                       return finding.severity == ConfigFinding::kError &&
                              finding.place.file == options.config && finding.place.key.empty();
                     });
}

const char* SeverityName(const ConfigFinding& finding) {
  return finding.severity == ConfigFinding::kError ? "error" : "warning";
}

std::string Count(int count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

std::string ReportText(const ConfigReport& report) {
  std::string text;
  for (const ConfigFinding& finding : report.findings()) {
    const ConfigPlace& place = finding.place;
    if (place.file.empty()) {
      absl::StrAppend(&text, place.key.empty() ? "command line" : "--", place.key);
    } else {
      absl::StrAppend(&text, place.file);
      if (place.line > 0) absl::StrAppend(&text, ":", place.line);
    }
    absl::StrAppend(&text, ": ", SeverityName(finding), ": ");
    if (!place.file.empty() && !place.key.empty()) absl::StrAppend(&text, place.key, ": ");
    absl::StrAppend(&text, finding.message, "\n");
  }
  return absl::StrCat(text, Count(report.count(ConfigFinding::kError), "error"), ", ",
                      Count(report.count(ConfigFinding::kWarning), "warning"), "\n");
}

std::string ReportJson(const ConfigReport& report) {
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  json.Key("errors");
  json.Number(report.count(ConfigFinding::kError));
  json.Key("warnings");
  json.Number(report.count(ConfigFinding::kWarning));
  json.Key("findings");
  json.StartArray();
  for (const ConfigFinding& finding : report.findings()) {
    const ConfigPlace& place = finding.place;
    json.StartObject();
    json.Key("severity");
    json.String(SeverityName(finding));
    json.Key("file");
    place.file.empty() ? json.Literal("null") : json.String(place.file);
    json.Key("line");
    place.line == 0 ? json.Literal("null") : json.Number(place.line);
    json.Key("key");
    json.String(place.key);
    json.Key("message");
    json.String(finding.message);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text + "\n";
}

int PrintConfigCheck(ServerOptions options, const FlagParser& flags,
                     absl::Span<const std::string> args, ConfigReport report) {
  // The report holds what would be logged.
  SetMinLogSeverity(LogSeverity::kFatal);
  for (const std::string& argument : flags.unknown()) {
    report.Warn({}, DescribeUnknownArgument(argument, flags));
  }
  const bool as_json = options.json;
  // Settings that are missing because their file could not be read are no further errors.
  if (!IsConfigUnread(options, report)) {
    ApplyPlatformConfig(&options, &report);
    const ServerSettings settings = ReadSettings(options, &report);
    CheckConfig(options, settings, &report);
  }
  FindPlaces(options, args, &report);
  const std::string text = as_json ? ReportJson(report) : ReportText(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return report.FirstError().ok() ? 0 : kConfigHasErrors;
}

}  // namespace tessera::serving
