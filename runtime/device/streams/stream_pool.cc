#include "runtime/device/streams/stream_pool.h"

#include <algorithm>

namespace tessera {

int StreamPool::Take() {
  absl::MutexLock lock(&mu_);
  int number = -1;
  const auto find = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (int i = 0; i < size(); ++i) {
      if (is_exclusive_[i]) continue;
      if (number < 0 || num_users_[i] < num_users_[number]) number = i;
    }
    return number >= 0;
  };
  mu_.Await(absl::Condition(&find));
  ++num_users_[number];
  return number;
}

void StreamPool::Use(int number) {
  absl::MutexLock lock(&mu_);
  const auto is_shared = [&]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !is_exclusive_[number]; };
  mu_.Await(absl::Condition(&is_shared));
  ++num_users_[number];
}

void StreamPool::Give(int number) {
  absl::MutexLock lock(&mu_);
  --num_users_[number];
}

bool StreamPool::TryBeginExclusive(int number) {
  absl::MutexLock lock(&mu_);
  if (num_users_[number] != 1 || is_exclusive_[number]) return false;
  is_exclusive_[number] = true;
  return true;
}

void StreamPool::EndExclusive(int number) {
  absl::MutexLock lock(&mu_);
  is_exclusive_[number] = false;
}

}  // namespace tessera
