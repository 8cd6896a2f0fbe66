#include "serving/commands/load/load_clock.h"

#include <time.h>

namespace tessera::serving {
namespace {

class MonotonicClock final : public LoadClock {
 public:
  absl::Duration Now() override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::DurationFromTimespec(now);
  }
  void SleepUntil(absl::Duration time) override {
    const timespec until = absl::ToTimespec(time);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
};

}  // namespace

LoadClock* LoadClock::Monotonic() {
  static MonotonicClock clock;
  return &clock;
}

}  // namespace tessera::serving
