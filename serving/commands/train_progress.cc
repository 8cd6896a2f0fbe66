#include "serving/commands/train_progress.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace tessera::serving {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(200);
constexpr int kWidth = 24;
constexpr char kStartOfClearedLine[] = "\r\033[K";

}  // namespace

TrainProgress::TrainProgress(RunControl* control)
    : control_(control), is_terminal_(isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) {
  if (is_terminal_) thread_ = std::thread([this] { Draw(); });
}

TrainProgress::~TrainProgress() {
  over_.Notify();
  if (thread_.joinable()) thread_.join();
}

void TrainProgress::OnRecord(const RunRecord& record) {
  if (is_terminal_) {
    const std::string text = RecordText(record);
    // One call, so that the bar does not come between.
    if (!text.empty()) std::fputs(absl::StrCat(kStartOfClearedLine, text, "\n").c_str(), stderr);
    return;
  }
  const bool is_printed =
      std::fputs(ToJson(record).c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!is_printed && errno == EPIPE) control_->Stop();
}

void TrainProgress::Draw() {
  int64_t last_step = control_->step, last_rows = 0;
  absl::Time last = absl::Now();
  double steps_per_second = 0, examples_per_second = 0;
  do {
    const absl::Time now = absl::Now();
    const int64_t step = control_->step, rows = control_->rows;
    if (last_step < control_->first_step) {  // the run goes on from there
      last_step = control_->first_step;
      last = now;
    }
    const double seconds = absl::ToDoubleSeconds(now - last);
    if (seconds > 0 && step > last_step) {
      // Halfway to the new rate, so that the numbers can be read.
      const double weight = steps_per_second == 0 ? 1 : 0.3;
      steps_per_second +=
          weight * (static_cast<double>(step - last_step) / seconds - steps_per_second);
      examples_per_second +=
          weight * (static_cast<double>(rows - last_rows) / seconds - examples_per_second);
      last = now;
      last_step = step;
      last_rows = rows;
    }
    const std::string line = absl::StrCat(kStartOfClearedLine,
                                          ProgressText(step, control_->total_steps, control_->loss,
                                                       examples_per_second, steps_per_second),
                                          control_->is_evaluating ? "  evaluating" : "");
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  } while (!over_.WaitForNotificationWithTimeout(kInterval));
  std::fputs(kStartOfClearedLine, stderr);
}

std::string ProgressText(int64_t step, int64_t total_steps, double loss, double examples_per_second,
                         double rate) {
  std::string text;
  if (total_steps > 0) {
    const double share =
        std::min(1.0, static_cast<double>(step) / static_cast<double>(total_steps));
    absl::StrAppendFormat(&text, "[%-*s] ", kWidth,
                          std::string(static_cast<size_t>(share * kWidth), '#'));
  }
  absl::StrAppendFormat(&text, "step %d", step);
  if (total_steps > 0) absl::StrAppendFormat(&text, " of %d", total_steps);
  if (rate == 0) return text;
  absl::StrAppendFormat(&text, "  loss %.4g", loss);
  if (examples_per_second > 0) {
    absl::StrAppendFormat(&text, "  %.0f examples/s", examples_per_second);
  } else {
    absl::StrAppendFormat(&text, "  %.1f steps/s", rate);
  }
  if (total_steps > step) {
    const absl::Duration left = absl::Seconds(static_cast<double>(total_steps - step) / rate);
    absl::StrAppend(&text, "  ", absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))),
                    " left");
  }
  return text;
}

std::string RecordText(const RunRecord& record) {
  if (record.event == "step") return "";
  std::string text = absl::StrCat("step ", record.step, ": ", record.event);
  for (const auto& [name, value] : record.numbers) {
    if (record.event == "start") continue;
    absl::StrAppendFormat(&text, "  %s %.4g", name, value);
  }
  for (const auto& [name, value] : record.texts) absl::StrAppend(&text, "  ", value);
  return text;
}

}  // namespace tessera::serving
