#include "runtime/training/job/background_save.h"

#include <utility>

namespace tessera {

BackgroundSave::~BackgroundSave() { Finish(/*wait=*/true); }

void BackgroundSave::Start(int64_t step, Write write) {
  step_ = step;
  thread_ = std::thread([this, write = std::move(write)]() mutable {
    absl::StatusOr<std::string> prefix = write();
    // What was saved is released before the result can be seen: variables that nobody else holds
    // are updated in place again.
    write = nullptr;
    absl::MutexLock lock(&mu_);
    prefix_ = std::move(prefix);
  });
}

std::optional<BackgroundSave::Result> BackgroundSave::Finish(bool wait) {
  if (!thread_.joinable()) return std::nullopt;
  if (!wait) {
    absl::MutexLock lock(&mu_);
    if (!prefix_) return std::nullopt;
  }
  thread_.join();
  absl::MutexLock lock(&mu_);
  Result result{.step = step_, .prefix = *std::move(prefix_)};
  prefix_.reset();
  return result;
}

}  // namespace tessera
