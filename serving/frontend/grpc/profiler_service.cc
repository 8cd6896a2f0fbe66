#include "serving/frontend/grpc/profiler_service.h"

#include <grpcpp/alarm.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/cpu_count.h"
#include "runtime/profile/trace_export.h"
#include "serving/frontend/grpc/grpc_status.h"
#include "serving/frontend/grpc/monitor_report.h"

namespace tessera::serving {
namespace {

using tensorflow::ProfileRequest;
using tensorflow::ProfileResponse;

// The file by which clients know a trace.
constexpr char kTraceFile[] = "xplane.pb";

absl::Duration CpuTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// Answers a call at once.
grpc::ServerUnaryReactor* ReplyNow(grpc::CallbackServerContext* context,
                                   const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

absl::Status CheckDuration(uint64_t milliseconds) {
  const int64_t most = absl::ToInt64Milliseconds(ProfilerService::kMaxDuration);
  if (milliseconds > 0 && milliseconds <= static_cast<uint64_t>(most)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("duration_ms is ", milliseconds, "; it must be from 1 to ", most));
}

Tracer::Options TraceOptionsOf(const ProfileRequest& request) {
  Tracer::Options options;
  // Version 0 says that the message is not set.
  if (request.opts().version() != 0) {
    const uint32_t level = request.opts().host_tracer_level();
    options.level = level == 0   ? TraceLevel::kOff
                    : level == 1 ? TraceLevel::kRuns
                                 : TraceLevel::kOps;
  }
  if (request.max_events() > 0) {
    options.max_events = static_cast<int64_t>(
        std::min<uint64_t>(request.max_events(), static_cast<uint64_t>(options.max_events)));
  }
  return options;
}

void FillProfileResponse(const ProfileRequest& request, const Trace& trace,
                         ProfileResponse* response) {
  tensorflow::profiler::XSpace space;
  ToXSpace(trace, &space);
  space.add_hostnames(
      request.opts().override_hostname().empty() ? HostName() : request.opts().override_hostname());
  response->set_empty_trace(trace.events.empty());
  if (request.emit_xspace()) {
    *response->mutable_xspace() = std::move(space);
    return;
  }
  tensorflow::ProfileToolData* const file = response->add_tool_data();
  file->set_name(kTraceFile);
  space.SerializeToString(file->mutable_data());
}

}  // namespace

// What a call records, and how it is answered.
struct ProfilerService::Recording {
  Tracer::Options trace;
  std::string session_id;
  absl::Time start;
  absl::Duration duration;
  // Fills the response.
  std::function<void(const Trace& trace, absl::Duration cpu_time)> answer;
};

// Waits for its start and for its end by alarms, and does its work on the service's pool. Lives
// until gRPC is done with it.
class ProfilerService::Call final : public grpc::ServerUnaryReactor {
 public:
  Call(ProfilerService* service, Recording recording)
      : service_(service), recording_(std::move(recording)) {}

  // Must be called first.
  void Start() {
    {
      absl::MutexLock lock(&service_->mu_);
      service_->calls_.insert(this);
    }
    Await(recording_.start, &Call::Begin);
  }
  // Ends the wait that goes on, and all that would follow.
  void EndEarly() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    ends_now_ = true;
    if (alarm_ != nullptr) alarm_->Cancel();
  }
  const std::string& session_id() const { return recording_.session_id; }

 private:
  void Await(absl::Time when, void (Call::*next)()) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(absl::ToChronoTime(when), [this, next](bool) {
      service_->pool_.Schedule([this, next] { (this->*next)(); });
    });
    if (ends_now_) alarm_->Cancel();
  }
  void Begin() {
    if (IsCancelled()) return Reply(GivenUp());
    const absl::Status status = service_->tracer_->Start(recording_.trace);
    if (!status.ok()) return Reply(status);
    cpu_start_ = CpuTime();
    Await(absl::Now() + recording_.duration, &Call::End);
  }
  void End() {
    const absl::Duration cpu_time = CpuTime() - cpu_start_;
    const Trace trace = service_->tracer_->Stop();
    if (IsCancelled()) return Reply(GivenUp());
    recording_.answer(trace, cpu_time);
    Reply(absl::OkStatus());
  }
  // The call must not be used after this.
  void Reply(const absl::Status& status) {
    {
      absl::MutexLock lock(&service_->mu_);
      service_->calls_.erase(this);
    }
    Finish(ToGrpcStatus(status));
  }
  static absl::Status GivenUp() { return absl::CancelledError("the client gave up"); }
  bool IsCancelled() const ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return is_cancelled_;
  }

  void OnCancel() override {
    {
      absl::MutexLock lock(&mu_);
      is_cancelled_ = true;
    }
    EndEarly();
  }
  void OnDone() override { delete this; }

  ProfilerService* const service_;
  const Recording recording_;
  absl::Duration cpu_start_;
  mutable absl::Mutex mu_;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mu_);
  bool ends_now_ ABSL_GUARDED_BY(mu_) = false;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

grpc::ServerUnaryReactor* ProfilerService::Profile(grpc::CallbackServerContext* context,
                                                   const ProfileRequest* request,
                                                   ProfileResponse* response) {
  const tensorflow::ProfileOptions& options = request->opts();
  const uint64_t milliseconds =
      options.duration_ms() > 0 ? options.duration_ms() : request->duration_ms();
  if (absl::Status status = CheckDuration(milliseconds); !status.ok()) {
    return ReplyNow(context, status);
  }
  const absl::Time now = absl::Now();
  const absl::Time start =
      std::max(now, absl::FromUnixNanos(static_cast<int64_t>(options.start_timestamp_ns())));
  if (start - now > kMaxDuration) {
    return ReplyNow(context, absl::InvalidArgumentError(absl::StrCat(
                                 "start_timestamp_ns is ", absl::FormatDuration(start - now),
                                 " ahead; it may be ", absl::FormatDuration(kMaxDuration))));
  }
  return Record({.trace = TraceOptionsOf(*request),
                 .session_id = request->session_id(),
                 .start = start,
                 .duration = absl::Milliseconds(milliseconds),
                 .answer = [request, response](const Trace& trace, absl::Duration) {
                   FillProfileResponse(*request, trace, response);
                 }});
}

grpc::ServerUnaryReactor* ProfilerService::Monitor(grpc::CallbackServerContext* context,
                                                   const tensorflow::MonitorRequest* request,
                                                   tensorflow::MonitorResponse* response) {
  if (absl::Status status = CheckDuration(request->duration_ms()); !status.ok()) {
    return ReplyNow(context, status);
  }
  return Record({.trace = {.level = TraceLevel::kRuns},
                 .session_id = "",
                 .start = absl::Now(),
                 .duration = absl::Milliseconds(request->duration_ms()),
                 .answer = [request, response](const Trace& trace, absl::Duration cpu_time) {
                   FillMonitorResponse(trace, cpu_time, AvailableCores(), *request, response);
                 }});
}

grpc::ServerUnaryReactor* ProfilerService::Terminate(grpc::CallbackServerContext* context,
                                                     const tensorflow::TerminateRequest* request,
                                                     tensorflow::TerminateResponse*) {
  EndCalls([request](const Call& call) { return call.session_id() == request->session_id(); });
  return ReplyNow(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* ProfilerService::Record(Recording recording) {
  Call* const call = new Call(this, std::move(recording));
  call->Start();
  return call;
}

void ProfilerService::EndCalls() {
  EndCalls([](const Call&) { return true; });
}

void ProfilerService::EndCalls(absl::FunctionRef<bool(const Call&)> which) {
  absl::MutexLock lock(&mu_);
  for (Call* const call : calls_) {
    if (which(*call)) call->EndEarly();
  }
}

}  // namespace tessera::serving
