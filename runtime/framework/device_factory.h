// The registry of device types.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/device.h"

namespace tessera {

struct DeviceOptions {
  // How many devices of a type to make at most, by type. A type that is not named gets as many as
  // its factory finds fit: one CPU, every GPU.
  std::map<std::string, int> count;
  // Parts of the devices' names but type and id; open parts are "localhost", 0 and 0.
  DeviceName task;
};

// Makes the devices of one type. A type of device is one folder that is linked in: it registers its
// factory and its kernels, and nothing else has to know it.
//
//   REGISTER_DEVICE_FACTORY("GPU", /*priority=*/200, MakeGpus);
struct DeviceFactory {
  // Devices 0 to count - 1, or fewer if there are fewer; `count` is -1 where the options say
  // nothing. Each is named `task` with the type and its number, and has this priority. No hardware
  // is no error: the result is empty then. Errors: whatever keeps hardware that is there from being
  // used.
  using Make = absl::StatusOr<std::vector<std::unique_ptr<Device>>> (*)(const DeviceName& task,
                                                                        int count, int priority);
  std::string type;
  int priority = 0;
  Make make = nullptr;
};

// Devices of all types that are linked in, those of the highest priority first; there is a CPU
// among them. Errors: INVALID_ARGUMENT for a type in the options that no factory makes; those of
// factories.
absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeDevices(const DeviceOptions& options);

struct DeviceFactoryRegistration {
  DeviceFactoryRegistration(absl::string_view type, int priority, DeviceFactory::Make make);
};
#define REGISTER_DEVICE_FACTORY(type, priority, make)                            \
  static const ::tessera::DeviceFactoryRegistration device_factory_registration_ \
      [[maybe_unused]] (type, priority, make)

}  // namespace tessera
