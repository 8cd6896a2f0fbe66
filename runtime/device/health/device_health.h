// Whether devices still work.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/device.h"

namespace tessera {

// Implemented by devices that can be lost while the process goes on, such as a GPU after a fault in
// a kernel. A lost device does not come back: every later run on it fails.
class LosableDevice {
 public:
  virtual ~LosableDevice() = default;
  // Returns UNAVAILABLE, with the name of the device and the cause, once work on the device has
  // failed because it was lost; OK before. Cheap and thread-safe.
  virtual absl::Status Health() const = 0;
};

// Returns the error of the first of `devices` that is lost, or OK.
absl::Status CheckHealth(absl::Span<const Device* const> devices);

}  // namespace tessera
