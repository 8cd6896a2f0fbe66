#include "serving/servables/request_trace.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

void Record(absl::string_view name, const char* category, int32_t thread, absl::Time start,
            absl::Time end, Tracer* tracer) {
  tracer->Record({.name = name,
                  .category = category,
                  .thread = thread,
                  .start = absl::ToUnixNanos(start),
                  .end = absl::ToUnixNanos(end)});
}

void RecordPhases(absl::Time start, absl::Time end, const RequestTimes& times, int32_t thread,
                  Tracer* tracer) {
  const auto phase = [&](RequestPhase which, absl::Time from, absl::Time to) {
    const char* const category = which == RequestPhase::kBatch ? "queue" : "phase";
    Record(kPhaseNames[static_cast<int>(which)], category, thread, from, to, tracer);
  };
  const absl::Time batch_began = times.run_began + times.batched;
  phase(RequestPhase::kDecode, start, times.run_began);
  if (times.batched > absl::ZeroDuration()) {
    phase(RequestPhase::kBatch, times.run_began, batch_began);
  }
  phase(RequestPhase::kRun, batch_began, times.run_ended);
  phase(RequestPhase::kEncode, times.run_ended, end);
}

}  // namespace

void TraceRequest(const EndedRequest& request, const RequestTimes& times, Tracer* tracer) {
  if (!tracer->Records(TraceLevel::kRuns)) [[likely]]
    return;
  std::string name =
      absl::StrCat(request.method.empty() ? "describe" : absl::AsciiStrToLower(request.method), " ",
                   request.model);
  if (times.version) absl::StrAppend(&name, "/", *times.version);
  const bool has_waited = times.resumed != absl::InfinitePast();
  const absl::Time start = has_waited ? times.resumed : times.arrived;
  const int32_t thread = CurrentThreadId();
  if (has_waited) {
    Record(absl::StrCat("wait of ", name), "queue", kNoThread, start - times.waited, start, tracer);
  }
  const absl::string_view protocol = kEntrypointNames[static_cast<int>(request.entrypoint)];
  std::vector<std::pair<const char*, std::string>> arguments = {
      {"protocol", std::string(protocol)},
      {"status", absl::StatusCodeToString(request.status.code())},
      {"latency_us", absl::StrCat(absl::ToInt64Microseconds(request.ended - times.arrived))}};
  if (!request.trace_id.empty()) arguments.emplace_back("trace_id", request.trace_id);
  tracer->Record({.name = name,
                  .category = "request",
                  .thread = thread,
                  .start = absl::ToUnixNanos(start),
                  .end = absl::ToUnixNanos(request.ended),
                  .arguments = std::move(arguments)});
  if (times.run_ended != absl::InfinitePast()) {
    RecordPhases(start, request.ended, times, thread, tracer);
  }
}

}  // namespace tessera::serving
