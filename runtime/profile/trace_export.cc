#include "runtime/profile/trace_export.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "runtime/base/valid_utf8.h"
#include "tsl/profiler/protobuf/xplane.pb.h"

namespace tessera {
namespace {

using tensorflow::profiler::XEvent;
using tensorflow::profiler::XLine;
using tensorflow::profiler::XPlane;
using tensorflow::profiler::XSpace;
using tensorflow::profiler::XStat;

constexpr int64_t kPicosecondsANanosecond = 1000;
// The statistic of an event that holds its category.
constexpr char kCategory[] = "category";
// The id of the first line that is no thread; ids of threads are lower.
constexpr int64_t kFirstLane = int64_t{1} << 24;

// Fills one plane, whose names stand once each.
class PlaneWriter {
 public:
  PlaneWriter(XPlane* plane, int64_t start) : plane_(plane), start_(start) {}

  XLine* AddLine(int64_t id, const std::string& name) {
    XLine* const line = plane_->add_lines();
    line->set_id(id);
    line->set_name(name);
    line->set_timestamp_ns(start_);
    return line;
  }
  void AddEvent(const TraceEvent& from, XLine* line) {
    XEvent* const event = line->add_events();
    event->set_metadata_id(EventId(from));
    // What was under way when the trace began counts from there.
    const int64_t start = std::max(from.start, start_);
    event->set_offset_ps((start - start_) * kPicosecondsANanosecond);
    event->set_duration_ps((from.end - start) * kPicosecondsANanosecond);
    for (const auto& [key, value] : from.arguments) AddStat(key, value, event->mutable_stats());
  }

 private:
  using Stats = google::protobuf::RepeatedPtrField<XStat>;

  int64_t EventId(const TraceEvent& event) {
    const auto [id, is_new] = events_.try_emplace({event.name, event.category}, events_.size() + 1);
    if (is_new) {
      auto& metadata = (*plane_->mutable_event_metadata())[id->second];
      metadata.set_id(id->second);
      metadata.set_name(ToValidUtf8(event.name));
      AddStat(kCategory, event.category, metadata.mutable_stats());
    }
    return id->second;
  }
  void AddStat(const char* key, const std::string& value, Stats* stats) {
    const auto [id, is_new] = stats_.try_emplace(key, stats_.size() + 1);
    if (is_new) {
      auto& metadata = (*plane_->mutable_stat_metadata())[id->second];
      metadata.set_id(id->second);
      metadata.set_name(key);
    }
    XStat* const stat = stats->Add();
    stat->set_metadata_id(id->second);
    stat->set_str_value(ToValidUtf8(value));
  }

  XPlane* const plane_;
  const int64_t start_;
  std::map<std::pair<absl::string_view, absl::string_view>, int64_t> events_;
  std::map<absl::string_view, int64_t> stats_;
};

using Events = std::vector<const TraceEvent*>;

// Sorts events by their start; one that surrounds others comes before them.
void SortByStart(Events* events) {
  std::sort(events->begin(), events->end(), [](const TraceEvent* a, const TraceEvent* b) {
    return std::make_pair(a->start, -a->end) < std::make_pair(b->start, -b->end);
  });
}

// Removes from sorted events those that begin within another one and end after it, as asynchronous
// ops do, and adds them to `others`.
void TakeCrossing(Events* events, Events* others) {
  std::vector<int64_t> open_until;  // of the events around the next one, the innermost last
  std::erase_if(*events, [&](const TraceEvent* event) {
    while (!open_until.empty() && open_until.back() <= event->start) open_until.pop_back();
    const bool crosses = !open_until.empty() && event->end > open_until.back();
    if (crosses) {
      others->push_back(event);
    } else {
      open_until.push_back(event->end);
    }
    return crosses;
  });
}

// Divides events among as few lanes as it takes for no two in a lane to overlap.
std::vector<Events> Lanes(Events events) {
  SortByStart(&events);
  using Free = std::pair<int64_t, size_t>;  // since when, and which lane
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  std::vector<Events> lanes;
  for (const TraceEvent* const event : events) {
    if (free.empty() || free.top().first > event->start) {
      free.push({event->end, lanes.size()});
      lanes.push_back({event});
      continue;
    }
    const size_t lane = free.top().second;
    free.pop();
    free.push({event->end, lane});
    lanes[lane].push_back(event);
  }
  return lanes;
}

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void Put(absl::string_view text, JsonWriter* json) {
  json->String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void Put(const char* key, absl::string_view text, JsonWriter* json) {
  json->Key(key);
  Put(text, json);
}

template <typename Map>
std::string NameOf(const Map& names, int64_t id) {
  const auto found = names.find(id);
  return found == names.end() ? absl::StrCat("#", id) : found->second.name();
}

std::string StatText(const XPlane& plane, const XStat& stat) {
  switch (stat.value_case()) {
    case XStat::kDoubleValue:
      return absl::StrCat(stat.double_value());
    case XStat::kUint64Value:
      return absl::StrCat(stat.uint64_value());
    case XStat::kInt64Value:
      return absl::StrCat(stat.int64_value());
    case XStat::kStrValue:
      return stat.str_value();
    case XStat::kRefValue:
      return NameOf(plane.stat_metadata(), stat.ref_value());
    default:
      return "";
  }
}

// Puts nanoseconds as microseconds, and a tenth of a nanosecond more. Viewers read the number as a
// double and multiply it by 1000; then some round the product, and others truncate it. Without the
// tenth a truncated product is now and then a nanosecond too low, and viewers such as Perfetto drop
// an event that seems to end after the one around it.
void PutMicroseconds(const char* key, int64_t nanoseconds, JsonWriter* json) {
  json->Key(key);
  const std::string text = absl::StrFormat("%d.%03d1", nanoseconds / 1000, nanoseconds % 1000);
  json->RawValue(text.data(), text.size(), rapidjson::kNumberType);
}

void WriteEvent(const XPlane& plane, const XLine& line, const XEvent& event, int64_t start,
                JsonWriter* json) {
  // Both ends are rounded alike, so that events which nest by picoseconds nest by nanoseconds, too.
  const int64_t begin = event.offset_ps() / kPicosecondsANanosecond;
  const int64_t end = (event.offset_ps() + event.duration_ps()) / kPicosecondsANanosecond;
  json->StartObject();
  Put("ph", "X", json);
  json->Key("pid");
  json->Int64(plane.id());
  json->Key("tid");
  json->Int64(line.id());
  PutMicroseconds("ts", line.timestamp_ns() - start + begin, json);
  PutMicroseconds("dur", end - begin, json);
  const auto metadata = plane.event_metadata().find(event.metadata_id());
  if (metadata != plane.event_metadata().end()) {
    Put("name", metadata->second.name(), json);
    for (const XStat& stat : metadata->second.stats()) {
      if (NameOf(plane.stat_metadata(), stat.metadata_id()) != kCategory) continue;
      Put("cat", StatText(plane, stat), json);
    }
  }
  json->Key("args");
  json->StartObject();
  for (const XStat& stat : event.stats()) {
    Put(NameOf(plane.stat_metadata(), stat.metadata_id()).c_str(), StatText(plane, stat), json);
  }
  json->EndObject();
  json->EndObject();
}

// Names a process (a plane), or a thread of it (a line).
void WriteName(const char* kind, int64_t process, const int64_t* thread, absl::string_view name,
               JsonWriter* json) {
  json->StartObject();
  Put("ph", "M", json);
  json->Key("pid");
  json->Int64(process);
  if (thread != nullptr) {
    json->Key("tid");
    json->Int64(*thread);
  }
  Put("name", kind, json);
  json->Key("args");
  json->StartObject();
  Put("name", name, json);
  json->EndObject();
  json->EndObject();
}

}  // namespace

void ToXSpace(const Trace& trace, XSpace* space) {
  std::map<int32_t, Events> by_thread;
  for (const TraceEvent& event : trace.events) {
    if (event.end >= trace.start) by_thread[event.thread].push_back(&event);
  }
  Events outside_threads = std::move(by_thread[kNoThread]);
  by_thread.erase(kNoThread);

  XPlane* const plane = space->add_planes();
  plane->set_id(1);
  plane->set_name("/host:CPU");
  PlaneWriter writer(plane, trace.start);
  for (auto& [thread, events] : by_thread) {
    SortByStart(&events);
    TakeCrossing(&events, &outside_threads);
    const auto name = trace.thread_names.find(thread);
    XLine* const line = writer.AddLine(
        thread,
        absl::StrCat(name == trace.thread_names.end() ? "thread" : name->second, "/", thread));
    for (const TraceEvent* const event : events) writer.AddEvent(*event, line);
  }
  const std::vector<Events> lanes = Lanes(std::move(outside_threads));
  for (size_t i = 0; i < lanes.size(); ++i) {
    XLine* const line = writer.AddLine(kFirstLane + i, absl::StrCat("waiting/", i + 1));
    for (const TraceEvent* const event : lanes[i]) writer.AddEvent(*event, line);
  }
  if (trace.dropped > 0) {
    space->add_warnings(absl::StrCat(
        trace.dropped, " events over the limit of the trace were dropped; record a shorter time"));
  }
}

std::string ToChromeTrace(const XSpace& space) {
  int64_t start = std::numeric_limits<int64_t>::max();
  for (const XPlane& plane : space.planes()) {
    for (const XLine& line : plane.lines()) start = std::min(start, line.timestamp_ns());
  }
  rapidjson::StringBuffer text;
  JsonWriter json(text);
  json.StartObject();
  Put("displayTimeUnit", "ns", &json);
  json.Key("traceEvents");
  json.StartArray();
  for (const XPlane& plane : space.planes()) {
    WriteName("process_name", plane.id(), nullptr, plane.name(), &json);
    for (const XLine& line : plane.lines()) {
      const int64_t thread = line.id();
      WriteName("thread_name", plane.id(), &thread, line.name(), &json);
      for (const XEvent& event : line.events()) WriteEvent(plane, line, event, start, &json);
    }
  }
  json.EndArray();
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

}  // namespace tessera
