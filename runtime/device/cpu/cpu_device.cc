#include "runtime/device/cpu/cpu_device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/cpu_count.h"
#include "runtime/framework/device_factory.h"

namespace tessera {
namespace {

absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeCpus(const DeviceName& task, int count,
                                                              int priority) {
  std::vector<std::unique_ptr<Device>> devices;
  // Host values need a place: there is always one.
  for (int i = 0; i < std::max(1, count); ++i) {
    DeviceName name = task;
    name.type = std::string(kCpu);
    name.id = i;
    devices.push_back(std::make_unique<CpuDevice>(std::move(name), priority));
  }
  return devices;
}

REGISTER_DEVICE_FACTORY(kCpu, CpuDevice::kPriority, MakeCpus);

}  // namespace

std::string CpuDevice::description() const { return absl::StrCat(AvailableCores(), " cores"); }

}  // namespace tessera
