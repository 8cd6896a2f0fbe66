#include "serving/frontend/rest/rest_runs.h"

#include <functional>
#include <thread>

namespace tessera::serving {

CallOptions RestRuns::Options(RequestTimes* times) {
  const size_t part = std::hash<std::thread::id>()(std::this_thread::get_id());
  CallOptions options{.cancellation = &cancellations_[part % cancellations_.size()].manager,
                      .times = times};
  if (timeout_ > absl::ZeroDuration()) options.deadline = times->arrived + timeout_;
  return options;
}

void RestRuns::Cancel() {
  for (Cancellation& cancellation : cancellations_) cancellation.manager.Cancel();
}

}  // namespace tessera::serving
