#include "runtime/framework/device_factory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// Filled before main, read after.
std::vector<DeviceFactory>& Factories() {
  static auto* const factories = new std::vector<DeviceFactory>;
  return *factories;
}

absl::Status CheckTypes(const DeviceOptions& options) {
  for (const auto& [type, count] : options.count) {
    const auto& all = Factories();
    const auto is_type = [&type = type](const DeviceFactory& f) { return f.type == type; };
    if (std::any_of(all.begin(), all.end(), is_type)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("there are no devices of type '", type, "' in this program; there are: ",
                     absl::StrJoin(all, ", ", [](std::string* out, const DeviceFactory& factory) {
                       absl::StrAppend(out, factory.type);
                     })));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeDevices(const DeviceOptions& options) {
  RETURN_IF_ERROR(CheckTypes(options));
  DeviceName task = options.task;
  task.FillFrom({.job = "localhost", .replica = 0, .task = 0, .type = {}, .id = {}});
  std::vector<std::unique_ptr<Device>> devices;
  for (const DeviceFactory& factory : Factories()) {
    auto count = options.count.find(factory.type);
    ASSIGN_OR_RETURN(
        std::vector<std::unique_ptr<Device>> made,
        factory.make(task, count == options.count.end() ? -1 : count->second, factory.priority));
    for (auto& device : made) devices.push_back(std::move(device));
  }
  std::stable_sort(devices.begin(), devices.end(),
                   [](const auto& a, const auto& b) { return a->priority() > b->priority(); });
  return devices;
}

DeviceFactoryRegistration::DeviceFactoryRegistration(absl::string_view type, int priority,
                                                     DeviceFactory::Make make) {
  Factories().push_back({std::string(type), priority, make});
}

}  // namespace tessera
