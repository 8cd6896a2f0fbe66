#include "runtime/training/job/logging_hook.h"

#include "absl/time/clock.h"
#include "runtime/training/job/step_rate.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

constexpr int64_t kDefaultSteps = 100;

class LoggingHookImpl final : public Hook {
 public:
  LoggingHookImpl(int64_t every_steps, RunLog* log)
      : every_steps_(every_steps), log_(log), start_(absl::Now()), rate_(start_) {}

  absl::Status Begin(int64_t /*step*/) override {
    rate_.Take(absl::Now());
    return absl::OkStatus();
  }

  absl::Status AfterStep(const StepResult& result) override {
    rate_.Count(result.rows);
    last_ = result;
    return result.step % every_steps_ == 0 ? Log() : absl::OkStatus();
  }

  absl::Status End(int64_t step) override {
    return last_.step == step && logged_ != step ? Log() : absl::OkStatus();
  }

 private:
  absl::Status Log() {
    const absl::Time now = absl::Now();
    const StepRate::Rates rates = rate_.Take(now);
    logged_ = last_.step;
    return log_->Write({.event = "step",
                        .step = last_.step,
                        .numbers = {{"loss", last_.loss},
                                    {"steps_per_second", rates.steps_per_second},
                                    {"examples_per_second", rates.examples_per_second},
                                    {"seconds", absl::ToDoubleSeconds(now - start_)}}});
  }

  const int64_t every_steps_;
  RunLog* const log_;
  const absl::Time start_;
  StepRate rate_;
  StepResult last_;
  int64_t logged_ = 0;
};

}  // namespace

std::unique_ptr<Hook> MakeLoggingHook(const training::LoggingHook& spec, RunLog* log) {
  return std::make_unique<LoggingHookImpl>(
      spec.every_steps() > 0 ? spec.every_steps() : kDefaultSteps, log);
}

}  // namespace tessera
