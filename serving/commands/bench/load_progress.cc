#include "serving/commands/bench/load_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"

namespace tessera::serving {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(100);
constexpr int kWidth = 30;
constexpr char kStartOfClearedLine[] = "\r\033[K";

}  // namespace

LoadProgress::LoadProgress(const LoadRun* run, const LoadLog* log, absl::Duration duration)
    : run_(run), log_(log), duration_(duration) {
  if (isatty(STDERR_FILENO)) thread_ = std::thread([this] { Draw(); });
}

LoadProgress::~LoadProgress() {
  over_.Notify();
  if (thread_.joinable()) thread_.join();
}

void LoadProgress::Draw() {
  LoadLog::Counts before;
  absl::Duration then = absl::ZeroDuration();
  do {
    const LoadLog::Counts counts = log_->counts();
    const absl::Duration now = run_->Elapsed();
    const double share = std::min(1.0, absl::FDivDuration(now, duration_));
    const double rate =
        static_cast<double>(counts.answered - before.answered) / absl::ToDoubleSeconds(now - then);
    absl::FPrintF(stderr, "%s[%-*s] %2.0f of %.0f s  %.0f answers/s  %d failed",
                  kStartOfClearedLine, kWidth,
                  std::string(static_cast<size_t>(share * kWidth), '#'),
                  absl::ToDoubleSeconds(std::min(now, duration_)), absl::ToDoubleSeconds(duration_),
                  rate, counts.lost);
    std::fflush(stderr);
    before = counts;
    then = now;
  } while (!over_.WaitForNotificationWithTimeout(kInterval));
  std::fputs(kStartOfClearedLine, stderr);
}

}  // namespace tessera::serving
