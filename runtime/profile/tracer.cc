#include "runtime/profile/tracer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tessera {

int32_t CurrentThreadId() {
  thread_local const int32_t id = static_cast<int32_t>(::syscall(SYS_gettid));
  return id;
}

int64_t Tracer::Now() { return absl::GetCurrentTimeNanos(); }

absl::Status Tracer::Start(const Options& options) {
  absl::MutexLock lock(&control_mu_);
  if (is_started_) {
    return absl::AlreadyExistsError(
        "another client is recording a trace of this process; try again when it has ended");
  }
  is_started_ = true;
  start_ = Now();
  room_ = options.max_events;
  level_ = options.level;
  return absl::OkStatus();
}

Trace Tracer::Stop() {
  absl::MutexLock control_lock(&control_mu_);
  level_ = TraceLevel::kOff;
  Trace trace{.start = start_, .end = Now()};
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    std::move(shard.events.begin(), shard.events.end(), std::back_inserter(trace.events));
    trace.names.push_back(std::move(shard.names));
    shard.events = {};
    shard.names = {};
  }
  for (const TraceEvent& event : trace.events) {
    if (event.thread == kNoThread) continue;
    auto [name, is_new] = trace.thread_names.try_emplace(event.thread);
    if (!is_new) continue;
    std::ifstream file(absl::StrCat("/proc/self/task/", event.thread, "/comm"));
    std::getline(file, name->second);
  }
  std::erase_if(trace.thread_names, [](const auto& item) { return item.second.empty(); });
  trace.dropped = std::max<int64_t>(0, -room_.load());
  is_started_ = false;
  return trace;
}

void Tracer::Record(TraceEvent event) {
  if (!Records(TraceLevel::kRuns) || room_.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  Shard& shard = shards_[static_cast<uint32_t>(CurrentThreadId()) % shards_.size()];
  absl::MutexLock lock(&shard.mu);
  // A trace that ended meanwhile has taken the shard's events; the next one must not show these.
  if (!Records(TraceLevel::kRuns)) return;
  event.name = *shard.names.emplace(event.name).first;
  shard.events.push_back(std::move(event));
}

}  // namespace tessera
