// The compute streams of a device, and who uses them.
#pragma once

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/framework/device.h"

namespace tessera {

// Steps that run at the same time enqueue their work on different streams of a device, so that
// small kernels of one fill what those of another leave idle. Each stream is a Device: it has the
// name of the device it belongs to, its own Device::stream(), and an allocator whose memory is
// released in the order of that stream.
//
//   const int number = pool.Take();
//   KernelContext context(step, pool.device(number));
//   ...
//   pool.Give(number);                        // once the work on the stream is done
//
// Stream 0 is the device itself. Everything that several steps share is ordered by it: uploads of
// constants, and steps that read or write state, such as variables, which therefore use it alone.
//
// Thread-safe.
class StreamPool {
 public:
  // The devices outlive the pool. Requires at least one.
  explicit StreamPool(std::vector<Device*> devices)
      : devices_(std::move(devices)), num_users_(devices_.size()), is_exclusive_(devices_.size()) {}

  int size() const { return static_cast<int>(devices_.size()); }
  Device* device(int number) const { return devices_[number]; }
  absl::Span<Device* const> devices() const { return devices_; }

  // Returns the number of the stream with the fewest users; of several the lowest.
  int Take();
  // Counts one user more of a certain stream.
  void Use(int number);
  void Give(int number);

  // If the caller is the one user of a stream, keeps it so until EndExclusive(): whoever comes to
  // Take() or Use() this stream waits. Else returns false and does nothing. To be held for a moment
  // only, in which nothing waits for other steps.
  bool TryBeginExclusive(int number);
  void EndExclusive(int number);

 private:
  const std::vector<Device*> devices_;
  absl::Mutex mu_;
  std::vector<int> num_users_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> is_exclusive_ ABSL_GUARDED_BY(mu_);
};

// Implemented by devices with several compute streams. The pool lives as long as the device.
class MultiStreamDevice {
 public:
  virtual ~MultiStreamDevice() = default;
  virtual StreamPool& streams() = 0;
};

}  // namespace tessera
