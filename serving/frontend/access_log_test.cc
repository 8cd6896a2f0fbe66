#include "serving/frontend/access_log.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

TEST(AccessLineTest, HoldsEverythingThatIsKnown) {
  const AccessRecord record{.protocol = "http",
                            .method = "POST",
                            .path = "/v1/models/m:predict",
                            .model = "m",
                            .version = 3,
                            .status = "200",
                            .arrived = absl::FromUnixMicros(1'769'860'800'000'042),
                            .duration = absl::Microseconds(812),
                            .bytes_in = 20,
                            .bytes_out = 40,
                            .peer = "[::1]:4711",
                            .trace_id = "4bf9"};
  EXPECT_EQ(AccessLine(record),
            R"({"time":"2026-01-31T12:00:00.000042Z","protocol":"http","method":"POST",)"
            R"("path":"/v1/models/m:predict","model":"m","version":3,"status":"200",)"
            R"("duration_us":812,"bytes_in":20,"bytes_out":40,"peer":"[::1]:4711",)"
            "\"trace_id\":\"4bf9\"}\n");
}

TEST(AccessLineTest, WhatClientsChooseStaysInItsStringAndItsLine) {
  const std::string line = AccessLine({.protocol = "grpc",
                                       .method = "Predict",
                                       .model = "a\",\"b\":\"c\n\xff",
                                       .status = "NOT_FOUND",
                                       .arrived = absl::UnixEpoch()});
  EXPECT_EQ(line, R"({"time":"1970-01-01T00:00:00.000000Z","protocol":"grpc","method":"Predict",)"
                  R"("model":"a\",\"b\":\"c\n)"
                  "\xef\xbf\xbd"
                  R"(","status":"NOT_FOUND","duration_us":0,"bytes_in":0,"bytes_out":0})"
                  "\n");
}

TEST(AccessLogTest, LinesAreWrittenAndCounted) {
  const std::string path = JoinPath(::testing::TempDir(), "access.log");
  std::filesystem::remove(path);
  MetricsRegistry metrics;
  {
    const auto log = AccessLog::Open(path, &metrics);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->Add({.protocol = "grpc", .arrived = absl::UnixEpoch()});
    (*log)->Flush();
    std::filesystem::rename(path, path + ".1");
    (*log)->Reopen();
    (*log)->Add({.protocol = "http", .arrived = absl::UnixEpoch()});
  }
  EXPECT_THAT(*ReadFile(path + ".1"), HasSubstr("\"grpc\""));
  EXPECT_THAT(*ReadFile(path), HasSubstr("\"http\""));
  EXPECT_THAT(metrics.RenderMetrics(),
              HasSubstr(":tessera:serving:access_log_count{status_code=\"OK\"} 2"));
}

TEST(AccessLogTest, AFileThatCannotBeOpenedIsToldAtOnce) {
  MetricsRegistry metrics;
  EXPECT_THAT(AccessLog::Open("/none/access.log", &metrics).status().message(),
              HasSubstr("cannot open '/none/access.log': No such file or directory"));
}

}  // namespace
}  // namespace tessera::serving
