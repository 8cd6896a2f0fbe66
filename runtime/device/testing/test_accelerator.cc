#include "runtime/device/testing/test_accelerator.h"

#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/framework/device_factory.h"

namespace tessera {
namespace {

absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeAccelerators(const DeviceName& task,
                                                                      int count, int priority) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    DeviceName name = task;
    name.type = std::string(kTestAccelerator);
    name.id = i;
    LateStream::Options options;
    options.pause_seed = i % 2 == 0 ? 0 : i;
    ASSIGN_OR_RETURN(
        std::unique_ptr<TestAccelerator> device,
        TestAccelerator::Make(std::move(name), TestAccelerator::kCapacity, options, priority));
    devices.push_back(std::move(device));
  }
  return devices;
}

REGISTER_DEVICE_FACTORY(kTestAccelerator, TestAccelerator::kPriority, MakeAccelerators);

}  // namespace

absl::StatusOr<std::unique_ptr<TestAccelerator>> TestAccelerator::Make(
    DeviceName name, size_t capacity, const LateStream::Options& options, int priority) {
  auto device =
      std::unique_ptr<TestAccelerator>(new TestAccelerator(std::move(name), priority, options));
  ASSIGN_OR_RETURN(device->memory_, AcceleratorMemory::Make(capacity, &device->stream_));
  device->SetMemory(&device->stream_, device->memory_.get(), &device->pinned_);
  return device;
}

}  // namespace tessera
