#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidjson/document.h"
#include "runtime/profile/trace_export.h"
#include "runtime/profile/tracer.h"
#include "tsl/profiler/protobuf/xplane.pb.h"

namespace tessera {
namespace {

TraceEvent Event(absl::string_view name, int64_t start, int64_t end, int32_t thread = 7) {
  return {.name = name, .category = "op", .thread = thread, .start = start, .end = end};
}

TEST(TracerTest, RecordsBetweenStartAndStopAlone) {
  Tracer tracer;
  tracer.Record(Event("before", 1, 2));
  ASSERT_TRUE(tracer.Start({}).ok());
  tracer.Record(Event(std::string("during"), 1, 2, CurrentThreadId()));
  const Trace trace = tracer.Stop();
  tracer.Record(Event("after", 1, 2));
  ASSERT_EQ(trace.events.size(), 1);
  EXPECT_EQ(trace.events[0].name, "during");
  EXPECT_LE(trace.start, trace.end);
  EXPECT_EQ(trace.thread_names.count(CurrentThreadId()), 1);
  ASSERT_TRUE(tracer.Start({}).ok());
  EXPECT_TRUE(tracer.Stop().events.empty()) << "a trace begins empty";
}

TEST(TracerTest, ALevelHoldsThoseBeforeIt) {
  Tracer tracer;
  EXPECT_FALSE(tracer.Records(TraceLevel::kRuns));
  ASSERT_TRUE(tracer.Start({.level = TraceLevel::kRuns}).ok());
  EXPECT_TRUE(tracer.Records(TraceLevel::kRuns));
  EXPECT_FALSE(tracer.Records(TraceLevel::kOps));
  tracer.Stop();
  ASSERT_TRUE(tracer.Start({.level = TraceLevel::kOps}).ok());
  EXPECT_TRUE(tracer.Records(TraceLevel::kRuns));
  EXPECT_TRUE(tracer.Records(TraceLevel::kOps));
}

TEST(TracerTest, OneTraceAtATime) {
  Tracer tracer;
  ASSERT_TRUE(tracer.Start({}).ok());
  EXPECT_EQ(tracer.Start({}).code(), absl::StatusCode::kAlreadyExists);
  tracer.Stop();
  EXPECT_TRUE(tracer.Start({}).ok());
}

TEST(TracerTest, CountsWhatIsOverTheLimit) {
  Tracer tracer;
  ASSERT_TRUE(tracer.Start({.max_events = 3}).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) tracer.Record(Event("e", j, j + 1, CurrentThreadId()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = tracer.Stop();
  EXPECT_EQ(trace.events.size(), 3);
  EXPECT_EQ(trace.dropped, 17);
}

Trace ExampleTrace() {
  Trace trace{.start = 1000, .end = 9000, .thread_names = {{7, "request"}}, .dropped = 2};
  trace.events = {Event("inner \"quoted\"", 3000, 4000), Event("outer", 2000, 5000),
                  Event("began earlier", 500, 1500, 8)};
  trace.events[0].arguments = {{"device", "CPU:0"}};
  return trace;
}

TEST(TraceExportTest, XSpaceHasALineForEachThread) {
  tensorflow::profiler::XSpace space;
  ToXSpace(ExampleTrace(), &space);
  ASSERT_EQ(space.planes_size(), 1);
  const auto& plane = space.planes(0);
  EXPECT_EQ(plane.name(), "/host:CPU");
  ASSERT_EQ(plane.lines_size(), 2);
  const auto& line = plane.lines(0);
  EXPECT_EQ(line.name(), "request/7");
  EXPECT_EQ(line.timestamp_ns(), 1000);
  ASSERT_EQ(line.events_size(), 2);
  EXPECT_EQ(plane.event_metadata().at(line.events(0).metadata_id()).name(), "outer");
  EXPECT_EQ(line.events(0).offset_ps(), 1'000'000);
  EXPECT_EQ(line.events(0).duration_ps(), 3'000'000);
  EXPECT_EQ(plane.lines(1).events(0).offset_ps(), 0);
  EXPECT_EQ(plane.lines(1).events(0).duration_ps(), 500'000);
  ASSERT_EQ(space.warnings_size(), 1);
}

TEST(TraceExportTest, BytesThatAreNotUtf8DoNotSpoilTheTrace) {
  Trace trace{.start = 1000, .end = 9000};
  trace.events = {Event("predict \xff\xfe", 2000, 3000)};
  trace.events[0].arguments = {{"trace_id", "\xe4"}};
  tensorflow::profiler::XSpace space;
  ToXSpace(trace, &space);
  tensorflow::profiler::XSpace read;
  ASSERT_TRUE(read.ParseFromString(space.SerializeAsString()));
  const auto& plane = read.planes(0);
  const auto& event = plane.lines(0).events(0);
  EXPECT_EQ(plane.event_metadata().at(event.metadata_id()).name(), "predict \uFFFD\uFFFD");
  EXPECT_EQ(event.stats(0).str_value(), "\uFFFD");
}

TEST(TraceExportTest, EventsOfALineNestOrFollowEachOther) {
  Trace trace{.start = 0, .end = 9000};
  trace.events = {Event("outer", 0, 5000),
                  Event("inner", 1000, 2000),
                  Event("crosses", 4000, 6000),
                  Event("follows", 5000, 7000),
                  Event("wait", 1000, 3000, 0),
                  Event("waits beside it", 2000, 4000, 0),
                  Event("waits after it", 3000, 4000, 0)};
  tensorflow::profiler::XSpace space;
  ToXSpace(trace, &space);
  const auto& plane = space.planes(0);
  std::map<std::string, std::vector<std::string>> lines;
  for (const auto& line : plane.lines()) {
    for (const auto& event : line.events()) {
      lines[line.name()].push_back(plane.event_metadata().at(event.metadata_id()).name());
    }
  }
  const std::map<std::string, std::vector<std::string>> expected = {
      {"thread/7", {"outer", "inner", "follows"}},
      {"waiting/1", {"wait", "waits after it", "crosses"}},
      {"waiting/2", {"waits beside it"}},
  };
  EXPECT_EQ(lines, expected);
}

TEST(TraceExportTest, LeavesOutWhatEndedBeforeTheTrace) {
  Trace trace{.start = 1000, .end = 9000};
  trace.events = {Event("late to be recorded", 0, 999)};
  tensorflow::profiler::XSpace space;
  ToXSpace(trace, &space);
  EXPECT_EQ(space.planes(0).lines_size(), 0);
}

// Nanoseconds of a time in a Chrome trace. Of the releases of Perfetto some round, and others
// truncate: both must read the same.
int64_t Nanoseconds(const rapidjson::Value& time) {
  const double product = time.GetDouble() * 1000;
  EXPECT_EQ(static_cast<int64_t>(product), std::llround(product)) << time.GetDouble();
  return std::llround(product);
}

TEST(TraceExportTest, ChromeTraceIsJsonWithCompleteEvents) {
  tensorflow::profiler::XSpace space;
  ToXSpace(ExampleTrace(), &space);
  rapidjson::Document document;
  document.Parse(ToChromeTrace(space).c_str());
  ASSERT_FALSE(document.HasParseError());
  const auto& events = document["traceEvents"];
  int complete = 0;
  for (const auto& event : events.GetArray()) {
    if (std::string(event["ph"].GetString()) != "X") continue;
    ++complete;
    if (std::string(event["name"].GetString()) != "inner \"quoted\"") continue;
    EXPECT_EQ(Nanoseconds(event["ts"]), 2000);
    EXPECT_EQ(Nanoseconds(event["dur"]), 1000);
    EXPECT_EQ(event["tid"].GetInt(), 7);
    EXPECT_STREQ(event["cat"].GetString(), "op");
    EXPECT_STREQ(event["args"]["device"].GetString(), "CPU:0");
  }
  EXPECT_EQ(complete, 3);
}

TEST(TraceExportTest, ChromeTraceKeepsEventsNestedToTheNanosecond) {
  tensorflow::profiler::XSpace space;
  auto* const plane = space.add_planes();
  const auto add = [&](int64_t offset_ps, int64_t duration_ps) {
    auto* const event = plane->mutable_lines(plane->lines_size() - 1)->add_events();
    event->set_offset_ps(offset_ps);
    event->set_duration_ps(duration_ps);
  };
  // Picoseconds that are cut off add up to a nanosecond more in the inner event than around it.
  plane->add_lines()->set_timestamp_ns(1000);
  add(600, 1600);
  add(1000, 1200);
  // 0.1 + 0.2 is no 0.3 among doubles.
  plane->add_lines()->set_timestamp_ns(1100);
  add(200'000, 100'000);
  rapidjson::Document document;
  document.Parse(ToChromeTrace(space).c_str());
  ASSERT_FALSE(document.HasParseError());
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const auto& event : document["traceEvents"].GetArray()) {
    if (std::string(event["ph"].GetString()) != "X") continue;
    const int64_t begin = Nanoseconds(event["ts"]);
    spans.push_back({begin, begin + Nanoseconds(event["dur"])});
  }
  const std::vector<std::pair<int64_t, int64_t>> expected = {{0, 2}, {1, 2}, {300, 400}};
  EXPECT_EQ(spans, expected);
}

TEST(TraceExportTest, ChromeTraceKeepsEveryNanosecondHoweverItIsRead) {
  constexpr int64_t kHour = 3'600'000'000'000;  // the longest trace
  tensorflow::profiler::XSpace space;
  auto* const line = space.add_planes()->add_lines();
  std::vector<int64_t> times;
  for (const int64_t first : {int64_t{0}, int64_t{1'000'000}, kHour - 2000}) {
    for (int64_t time = first; time < first + 2000; ++time) times.push_back(time);
  }
  for (const int64_t time : times) line->add_events()->set_offset_ps(time * 1000);
  rapidjson::Document document;
  document.Parse(ToChromeTrace(space).c_str());
  ASSERT_FALSE(document.HasParseError());
  std::vector<int64_t> read;
  for (const auto& event : document["traceEvents"].GetArray()) {
    if (std::string(event["ph"].GetString()) == "X") read.push_back(Nanoseconds(event["ts"]));
  }
  EXPECT_EQ(read, times);
}

TEST(TraceExportTest, AnEmptyTraceIsJsonToo) {
  rapidjson::Document document;
  document.Parse(ToChromeTrace({}).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_EQ(document["traceEvents"].Size(), 0);
}

}  // namespace
}  // namespace tessera
