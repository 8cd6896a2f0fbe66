#include "runtime/device/streams/stream_pool.h"

#include <algorithm>

namespace tessera {

int StreamPool::Take() {
  absl::MutexLock lock(&mu_);
  const auto least = std::min_element(num_users_.begin(), num_users_.end());
  ++*least;
  return static_cast<int>(least - num_users_.begin());
}

void StreamPool::Use(int number) {
  absl::MutexLock lock(&mu_);
  ++num_users_[number];
}

void StreamPool::Give(int number) {
  absl::MutexLock lock(&mu_);
  --num_users_[number];
}

}  // namespace tessera
