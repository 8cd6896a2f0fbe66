#include "runtime/device/streams/stream_pool.h"

#include <algorithm>

namespace tessera {

int StreamPool::Take() {
  absl::MutexLock lock(&mu_);
  const auto least = std::min_element(num_users_.begin(), num_users_.end());
  const int number = static_cast<int>(least - num_users_.begin());
  ++num_users_[number];
  ++num_uses_[number];
  return number;
}

void StreamPool::Use(int number) {
  absl::MutexLock lock(&mu_);
  ++num_users_[number];
  ++num_uses_[number];
}

void StreamPool::Give(int number) {
  absl::MutexLock lock(&mu_);
  --num_users_[number];
}

int StreamPool::num_users(int number) const {
  absl::MutexLock lock(&mu_);
  return num_users_[number];
}

int64_t StreamPool::num_uses(int number) const {
  absl::MutexLock lock(&mu_);
  return num_uses_[number];
}

}  // namespace tessera
