#include "runtime/training/job/checkpoint_hook.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

constexpr double kDefaultSeconds = 600;

class CheckpointHookImpl final : public Hook {
 public:
  CheckpointHookImpl(const training::CheckpointHook& spec, CheckpointCalls calls)
      : every_steps_(spec.every_steps()),
        interval_(absl::Seconds(spec.every_seconds() > 0 ? spec.every_seconds() : kDefaultSeconds)),
        calls_(std::move(calls)) {}

  absl::Status Begin(int64_t step) override {
    saved_ = step;
    saved_at_ = absl::Now();
    return absl::OkStatus();
  }
  absl::Status AfterStep(const StepResult& result) override {
    RETURN_IF_ERROR(calls_.finish(/*wait=*/false));
    const bool is_due =
        every_steps_ > 0 ? result.step % every_steps_ == 0 : absl::Now() - saved_at_ >= interval_;
    return is_due ? Save(result.step) : absl::OkStatus();
  }
  absl::Status End(int64_t step) override {
    if (step != saved_ || calls_.have_data_moved()) RETURN_IF_ERROR(Save(step));
    return calls_.finish(/*wait=*/true);
  }

 private:
  absl::Status Save(int64_t step) {
    RETURN_IF_ERROR(calls_.save(step));
    return Begin(step);
  }

  const int64_t every_steps_;  // 0: by time
  const absl::Duration interval_;
  const CheckpointCalls calls_;
  int64_t saved_ = 0;
  absl::Time saved_at_;
};

}  // namespace

std::unique_ptr<Hook> MakeCheckpointHook(const training::CheckpointHook& spec,
                                         CheckpointCalls calls) {
  return std::make_unique<CheckpointHookImpl>(spec, std::move(calls));
}

}  // namespace tessera
