#include "serving/commands/bench/interruptible_load.h"

#include <atomic>

namespace tessera::serving {
namespace {

// What the handler of the signal stops.
std::atomic<LoadRun*> interrupted_run{nullptr};

void Stop(int) {
  if (LoadRun* run = interrupted_run.load()) run->Stop();
}

}  // namespace

InterruptibleLoad::InterruptibleLoad(LoadRun* run) {
  interrupted_run = run;
  struct sigaction action = {};
  action.sa_handler = Stop;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(SIGINT, &action, &before_);
}

InterruptibleLoad::~InterruptibleLoad() {
  sigaction(SIGINT, &before_, nullptr);
  interrupted_run = nullptr;
}

}  // namespace tessera::serving
