// A progress bar for load that runs.
#pragma once

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "serving/commands/load/load_log.h"
#include "serving/commands/load/load_run.h"

namespace tessera::serving {

// Draws on the standard error, on one line again and again, if that is a terminal. The destructor
// clears the line, so that results stand there alone.
//
//   LoadProgress progress(&run, &log, absl::Seconds(10));
//   run.Run();
class LoadProgress {
 public:
  // `run` and `log` must outlive the object.
  LoadProgress(const LoadRun* run, const LoadLog* log, absl::Duration duration);
  ~LoadProgress();

 private:
  void Draw();

  const LoadRun* const run_;
  const LoadLog* const log_;
  const absl::Duration duration_;
  absl::Notification over_;
  std::thread thread_;
};

}  // namespace tessera::serving
