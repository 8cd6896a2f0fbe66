// The CPU as a device.
#pragma once

#include "runtime/framework/device.h"

namespace tessera {

// All cores of the process in one device. Several of them in one session share the cores; they are
// for graphs that name them, and for tests.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceName name, int priority = kPriority)
      : Device(std::move(name), priority) {}
  // The lowest: any accelerator that can run a node goes first.
  static constexpr int kPriority = 100;
  std::string description() const override;
};

}  // namespace tessera
