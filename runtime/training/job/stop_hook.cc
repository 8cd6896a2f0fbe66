#include "runtime/training/job/stop_hook.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tessera {
namespace {

class StopHook final : public Hook {
 public:
  StopHook(absl::Duration after, RunEnd* end)
      : after_(after), deadline_(absl::Now() + after), end_(end) {}

  absl::Status AfterStep(const StepResult& /*result*/) override {
    if (absl::Now() >= deadline_) {
      end_->Ask(
          absl::StrCat("hooks.stop.after_seconds: ", absl::FormatDuration(after_), " are over"),
          /*complete=*/false);
    }
    return absl::OkStatus();
  }

 private:
  const absl::Duration after_;
  const absl::Time deadline_;
  RunEnd* const end_;
};

}  // namespace

std::unique_ptr<Hook> MakeStopHook(absl::Duration after, RunEnd* end) {
  return std::make_unique<StopHook>(after, end);
}

}  // namespace tessera
