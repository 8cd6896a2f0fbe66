// A device for tests that look at what is allocated.
#pragma once

#include "runtime/framework/device.h"

namespace tessera {

// A CPU whose host memory comes from `allocator`, which must outlive the device.
class AllocatorDevice final : public Device {
 public:
  explicit AllocatorDevice(Allocator* allocator)
      : Device(*DeviceName::Parse("/job:test/replica:0/task:0/device:CPU:0"), /*priority=*/0) {
    SetHostMemory(allocator);
  }
};

}  // namespace tessera
