#include "serving/commands/check_config.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

ConfigReport Sample() {
  ConfigReport report;
  report.Add({"a.yaml", 3, "port"}, absl::InvalidArgumentError("a.yaml:3: port is \"x\""));
  report.Warn({"b.config"}, "has no effect");
  report.Add({.key = "config"}, absl::NotFoundError("no file"));
  report.Warn({}, "unknown argument: -x");
  report.Warn({}, "");
  report.Add({}, absl::OkStatus());
  return report;
}

TEST(CheckConfigTest, TextNamesPlacesAndCounts) {
  EXPECT_EQ(ReportText(Sample()),
            "a.yaml:3: error: port: port is \"x\"\n"
            "b.config: warning: has no effect\n"
            "--config: error: no file\n"
            "command line: warning: unknown argument: -x\n"
            "2 errors, 2 warnings\n");
  EXPECT_EQ(ReportText(ConfigReport()), "0 errors, 0 warnings\n");
}

TEST(CheckConfigTest, JsonHasTheSame) {
  ConfigReport report;
  report.Add({"a.yaml", 3, "port"}, absl::InvalidArgumentError("port is \"x\""));
  EXPECT_EQ(ReportJson(report),
            "{\n"
            "    \"errors\": 1,\n"
            "    \"warnings\": 0,\n"
            "    \"findings\": [\n"
            "        {\n"
            "            \"severity\": \"error\",\n"
            "            \"file\": \"a.yaml\",\n"
            "            \"line\": 3,\n"
            "            \"key\": \"port\",\n"
            "            \"message\": \"port is \\\"x\\\"\"\n"
            "        }\n"
            "    ]\n"
            "}\n");
}

TEST(CheckConfigTest, TheFirstErrorIsWhatAStartEndsWith) {
  EXPECT_EQ(Sample().FirstError(), absl::InvalidArgumentError("a.yaml:3: port is \"x\""));
}

}  // namespace
}  // namespace tessera::serving
