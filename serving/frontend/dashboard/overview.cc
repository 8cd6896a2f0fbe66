#include "serving/frontend/dashboard/overview.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "runtime/base/cpu_count.h"
#include "serving/core/metrics.h"
#include "serving/frontend/json/json_message.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void Put(Json& json, absl::string_view text) { json.String(text.data(), text.size()); }
void Put(Json& json, int64_t number) { json.Int64(number); }
void Put(Json& json, uint64_t number) { json.Uint64(number); }
void Put(Json& json, double number) { json.Double(number); }
void Put(Json& json, bool value) { json.Bool(value); }
void Put(Json& json, absl::Time time) { json.Double(absl::ToUnixMicros(time) * 1e-6); }
void Put(Json& json, absl::Duration time) { json.Double(absl::ToDoubleSeconds(time)); }

template <typename Value>
void Member(Json& json, const char* name, const Value& value) {
  json.Key(name);
  Put(json, value);
}

// Writes an array with an element for each of `items`.
template <typename Items, typename Write>
void Array(Json& json, const char* name, const Items& items, Write write) {
  json.Key(name);
  json.StartArray();
  for (const auto& item : items) write(item);
  json.EndArray();
}

void Put(Json& json, const google::protobuf::Message& message) {
  // Strings that are no UTF-8 are all that cannot be written.
  const std::string text = MessageJson(message, /*on_one_line=*/true).value_or("{}");
  json.RawValue(text.data(), text.size(), rapidjson::kObjectType);
}

// Requests to one version by all methods and front ends.
struct Traffic {
  int64_t requests = 0;
  int64_t in_flight = 0;
  std::map<std::string, int64_t> errors;  // by code
  std::vector<int64_t> latency;           // by bucket, the last one of which has no bound
  // By phase: the number of requests and their microseconds.
  std::array<std::pair<int64_t, double>, kPhaseNames.size()> phases{};
};

Traffic TrafficOf(const Servable& servable) {
  Traffic traffic;
  servable.request_stats().ForEach(
      [&](absl::string_view, absl::string_view, const RequestCell& cell) {
        traffic.in_flight += cell.in_flight();
        for (int code = 0; code < RequestCell::kNumCodes; ++code) {
          const int64_t ended = cell.ended(static_cast<absl::StatusCode>(code));
          if (ended == 0) continue;
          traffic.requests += ended;
          if (code == 0) continue;
          traffic.errors[absl::StatusCodeToString(static_cast<absl::StatusCode>(code))] += ended;
        }
        const auto latency = cell.latency().Read();
        traffic.latency.resize(latency.bucket.size());
        uint64_t below = 0;
        for (size_t i = 0; i < latency.bucket.size(); ++i) {
          traffic.latency[i] += static_cast<int64_t>(latency.bucket[i].cumulative_count - below);
          below = latency.bucket[i].cumulative_count;
        }
        for (size_t i = 0; i < kPhaseNames.size(); ++i) {
          const auto phase = cell.latency(static_cast<RequestPhase>(i)).Read();
          auto& [number, micros] = traffic.phases[i];
          number += static_cast<int64_t>(phase.sample_count);
          micros += phase.sample_sum;
        }
      });
  return traffic;
}

// Returns the bounds of the latency buckets of all versions, in microseconds, but for infinity.
std::vector<double> LatencyBounds() {
  std::vector<double> bounds;
  const RequestCell cell(RequestMethod::kPredict, Entrypoint::kGrpc);
  for (const auto& bucket : cell.latency().Read().bucket) {
    bounds.push_back(bucket.upper_bound);
  }
  bounds.pop_back();
  return bounds;
}

void PutTraffic(Json& json, const Traffic& traffic) {
  json.Key("traffic");
  json.StartObject();
  Member(json, "requests", traffic.requests);
  Member(json, "in_flight", traffic.in_flight);
  json.Key("errors");
  json.StartObject();
  for (const auto& [code, number] : traffic.errors) Member(json, code.c_str(), number);
  json.EndObject();
  Array(json, "latency", traffic.latency, [&](int64_t number) { Put(json, number); });
  json.Key("phases");
  json.StartArray();
  for (size_t i = 0; i < kPhaseNames.size(); ++i) {
    json.StartArray();
    Put(json, kPhaseNames[i]);
    Put(json, traffic.phases[i].first);
    Put(json, traffic.phases[i].second);
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
}

// Batches of one version.
struct Batches {
  int64_t runs = 0;
  double rows = 0;
  double waiting = 0;  // requests in the queue now
};

// Returns the batches of all versions whose requests are batched, by model and version.
std::map<std::vector<std::string>, Batches> ReadBatches(MetricsRegistry& metrics) {
  std::map<std::vector<std::string>, Batches> batches;
  for (const MetricSample& sample : metrics.Collected("/tessera/serving/batch_size")) {
    Batches& of_version = batches[sample.values];
    of_version.runs = static_cast<int64_t>(sample.histogram.sample_count);
    of_version.rows = sample.histogram.sample_sum;
  }
  for (const MetricSample& sample : metrics.Collected("/tessera/serving/queue_length")) {
    batches[sample.values].waiting = sample.value;
  }
  return batches;
}

// What versions take and do, read once for all of them.
struct Usage {
  std::map<ServableId, MemoryEstimate> memory;
  std::map<std::vector<std::string>, Batches> batches;
};

void PutVersion(Json& json, const ServedModels& models, const ServableState& state,
                const Usage& usage) {
  json.StartObject();
  Member(json, "version", absl::StrCat(state.id.version));
  Member(json, "state", StateName(state.state));
  Member(json, "since", state.time);
  Member(json, "health", state.health.ok() ? "" : state.health.ToString());
  const auto estimate = usage.memory.find(state.id);
  const MemoryEstimate bytes = estimate == usage.memory.end() ? MemoryEstimate() : estimate->second;
  Member(json, "heap_bytes", bytes.heap);
  Member(json, "mapped_bytes", bytes.mapped);
  if (const auto handle = models.Acquire({.name = state.id.name, .version = state.id.version});
      handle.ok()) {
    PutTraffic(json, TrafficOf(**handle));
  }
  if (const auto batches = usage.batches.find({state.id.name, absl::StrCat(state.id.version)});
      batches != usage.batches.end()) {
    json.Key("batches");
    json.StartObject();
    Member(json, "runs", batches->second.runs);
    Member(json, "rows", batches->second.rows);
    Member(json, "waiting", batches->second.waiting);
    json.EndObject();
  }
  json.EndObject();
}

void PutModels(Json& json, const ServedModels& models, MetricsRegistry& metrics) {
  // Models that are configured, and those that still have a version in some state.
  std::map<std::string, std::map<std::string, int64_t>> labels_of;
  const tensorflow::serving::ModelServerConfig config = models.config();
  for (const auto& model : config.model_config_list().config()) {
    labels_of[model.name()].insert(model.version_labels().begin(), model.version_labels().end());
  }
  const ServableStateMonitor::AllStates all = models.states().All();
  // Versions that were unloaded are of the past, unless their failure still has to be seen.
  const auto is_shown = [](const ServableState& state) {
    return state.state != State::kEnd || !state.health.ok();
  };
  for (const auto& [name, states] : all) {
    for (const auto& [version, state] : states) {
      if (is_shown(state)) labels_of[name];
    }
  }
  const Usage usage{.memory = models.MemoryInUse(), .batches = ReadBatches(metrics)};
  Array(json, "models", labels_of, [&](const auto& model) {
    json.StartObject();
    Member(json, "name", model.first);
    json.Key("labels");
    json.StartObject();
    for (const auto& [label, version] : model.second) {
      Member(json, label.c_str(), absl::StrCat(version));
    }
    json.EndObject();
    json.Key("versions");
    json.StartArray();
    if (const auto states = all.find(model.first); states != all.end()) {
      for (const auto& [version, state] : states->second) {
        if (is_shown(state)) PutVersion(json, models, state, usage);
      }
    }
    json.EndArray();
    json.EndObject();
  });
}

void PutProcess(Json& json, MetricsRegistry& metrics) {
  json.Key("process");
  json.StartObject();
  for (const char* name : {"resident_memory_bytes", "cpu_seconds", "threads", "open_files"}) {
    const auto samples = metrics.Collected(absl::StrCat("/tessera/serving/process_", name));
    Member(json, name, samples.empty() ? 0.0 : samples[0].value);
  }
  Member(json, "cores", static_cast<int64_t>(AvailableCores()));
  json.EndObject();
}

}  // namespace

std::string OverviewJson(const OverviewSources& sources, uint64_t revision, bool read_only) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  Member(json, "version", sources.server_version);
  Member(json, "time", absl::Now());
  Member(json, "started", sources.started);
  Member(json, "read_only", read_only);
  Member(json, "timeline", revision);
  Member(json, "memory_limit", sources.memory_limit);
  Array(json, "latency_bounds", LatencyBounds(), [&](double bound) { Put(json, bound); });
  PutProcess(json, *sources.metrics);
  PutModels(json, *sources.models, *sources.metrics);
  std::vector<RolloutStatus> rollouts;
  if (sources.rollouts != nullptr) rollouts = sources.rollouts->Statuses();
  Array(json, "rollouts", rollouts, [&](const RolloutStatus& rollout) { Put(json, rollout); });
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

std::string TimelineJson(const OverviewSources& sources) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  Array(json, "states", sources.history->states(), [&](const ServableState& state) {
    json.StartObject();
    Member(json, "sequence", state.sequence);
    Member(json, "model", state.id.name);
    Member(json, "version", absl::StrCat(state.id.version));
    Member(json, "state", StateName(state.state));
    Member(json, "time", state.time);
    Member(json, "health", state.health.ok() ? "" : state.health.ToString());
    json.EndObject();
  });
  Array(json, "loads", sources.history->loads(), [&](const VersionHistory::Load& load) {
    const LoadReport& report = load.report;
    json.StartObject();
    Member(json, "number", load.number);
    Member(json, "model", report.id.name);
    Member(json, "version", absl::StrCat(report.id.version));
    Member(json, "time", report.start);
    Member(json, "seconds", report.time);
    Member(json, "error", report.status.ok() ? "" : report.status.ToString());
    Array(json, "stages", report.stages, [&](const auto& stage) {
      json.StartArray();
      Put(json, stage.first);
      Put(json, stage.second);
      json.EndArray();
    });
    json.EndObject();
  });
  std::vector<RolloutEvent> events;
  if (sources.rollouts != nullptr) events = sources.rollouts->RecentEvents();
  Array(json, "events", events, [&](const RolloutEvent& event) { Put(json, event); });
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

}  // namespace tessera::serving
