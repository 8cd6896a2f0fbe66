#include "runtime/framework/stream.h"

#include <utility>

#include "absl/synchronization/notification.h"

namespace tessera {

absl::Status Stream::Synchronize() {
  absl::Notification is_done;
  absl::Status result;
  Then([&](absl::Status status) {
    result = std::move(status);
    is_done.Notify();
  });
  is_done.WaitForNotification();
  return result;
}

}  // namespace tessera
