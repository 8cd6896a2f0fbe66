// Load that Ctrl-C ends early.
#pragma once

#include <csignal>

#include "serving/commands/load/load_run.h"

namespace tessera::serving {

// While it lives, SIGINT stops the run, which then ends as if its time were over. A second SIGINT
// ends the process. One object at a time.
class InterruptibleLoad {
 public:
  // `run` must outlive the object.
  explicit InterruptibleLoad(LoadRun* run);
  ~InterruptibleLoad();
  InterruptibleLoad(const InterruptibleLoad&) = delete;

 private:
  struct sigaction before_;
};

}  // namespace tessera::serving
