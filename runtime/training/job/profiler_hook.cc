#include "runtime/training/job/profiler_hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/profile/trace_export.h"
#include "runtime/training/job/failure.h"
#include "tessera/training/job.pb.h"
#include "tsl/profiler/protobuf/xplane.pb.h"

namespace tessera {
namespace {

class ProfilerHookImpl final : public Hook {
 public:
  ProfilerHookImpl(const training::ProfilerHook& spec, std::string folder, Tracer* tracer,
                   RunLog* log)
      : first_(std::max<int64_t>(spec.from_step(), 1)),
        last_(first_ + spec.steps() - 1),
        folder_(std::move(folder)),
        tracer_(tracer),
        log_(log) {}

  absl::Status BeforeStep(int64_t step) override {
    if (step != first_) return absl::OkStatus();
    is_recording_ = true;
    return tracer_->Start({.level = TraceLevel::kOps});
  }
  absl::Status AfterStep(const StepResult& result) override {
    return is_recording_ && result.step == last_ ? Write(result.step) : absl::OkStatus();
  }
  absl::Status End(int64_t step) override { return is_recording_ ? Write(step) : absl::OkStatus(); }

 private:
  absl::Status Write(int64_t step) {
    is_recording_ = false;
    tensorflow::profiler::XSpace space;
    ToXSpace(tracer_->Stop(), &space);
    const std::string path = JoinPath(folder_, absl::StrCat("steps-", first_, "-", step, ".json"));
    RETURN_IF_ERROR(WithFailure(CreateDirectories(folder_), RunFailure::kWrite));
    RETURN_IF_ERROR(
        WithFailure(WriteFileAtomically(path, ToChromeTrace(space)), RunFailure::kWrite));
    return log_->Write({.event = "profile", .step = step, .texts = {{"path", path}}});
  }

  const int64_t first_;
  const int64_t last_;
  const std::string folder_;
  Tracer* const tracer_;
  RunLog* const log_;
  bool is_recording_ = false;
};

}  // namespace

std::unique_ptr<Hook> MakeProfilerHook(const training::ProfilerHook& spec, std::string folder,
                                       Tracer* tracer, RunLog* log) {
  return std::make_unique<ProfilerHookImpl>(spec, std::move(folder), tracer, log);
}

}  // namespace tessera
