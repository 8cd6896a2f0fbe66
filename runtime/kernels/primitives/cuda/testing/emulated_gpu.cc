// A device of type "EMULATED_GPU": its kernels are those of the GPU, run on the host.
#include <memory>
#include <utility>
#include <vector>

#include "runtime/framework/device_factory.h"

namespace tessera {
namespace {

constexpr absl::string_view kEmulatedGpu = "EMULATED_GPU";
constexpr int kPriority = 150;  // above the CPU's

class EmulatedGpu final : public Device {
 public:
  using Device::Device;
};

absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeEmulatedGpus(const DeviceName& task,
                                                                      int count, int priority) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    DeviceName name = task;
    name.type = std::string(kEmulatedGpu);
    name.id = i;
    devices.push_back(std::make_unique<EmulatedGpu>(std::move(name), priority));
  }
  return devices;
}

REGISTER_DEVICE_FACTORY(kEmulatedGpu, kPriority, MakeEmulatedGpus);

}  // namespace
}  // namespace tessera
