// How `tessera train` shows a run.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "runtime/training/job/run_control.h"
#include "runtime/training/job/run_log.h"

namespace tessera::serving {

// On a terminal, draws a bar on the last line of the standard error, again and again, with the
// loss, examples a second and the time left, and prints a line above it for each evaluation,
// checkpoint and export. Otherwise prints each record as a line of JSON to the standard output, and
// stops the run when nobody reads them any more, for which SIGPIPE must be ignored. The destructor
// clears the bar.
class TrainProgress final : public RunObserver {
 public:
  // `control` must outlive the object.
  explicit TrainProgress(RunControl* control);
  ~TrainProgress() override;

  void OnRecord(const RunRecord& record) override;

 private:
  void Draw();

  RunControl* const control_;
  const bool is_terminal_;
  absl::Notification over_;
  std::thread thread_;
};

// Returns a record as a line for people, without its end; empty for one that the bar shows already.
std::string RecordText(const RunRecord& record);

// Returns the bar's line. `rate` is in steps a second, 0 while it is not known.
std::string ProgressText(int64_t step, int64_t total_steps, double loss, double examples_per_second,
                         double rate);

}  // namespace tessera::serving
