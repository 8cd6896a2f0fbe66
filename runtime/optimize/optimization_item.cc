#include <algorithm>

#include "runtime/framework/kernel_registry.h"
#include "runtime/optimize/pass.h"

namespace tessera {
namespace {

absl::string_view DeviceTypeOf(const OptimizationItem& item, const Node& node) {
  for (const Device* device : item.devices) {
    if (device->full_name() == node.device()) return device->type();
  }
  return item.devices.front()->type();
}

}  // namespace

Device* OptimizationItem::host() const {
  return *std::find_if(devices.begin(), devices.end(),
                       [](const Device* device) { return device->type() == kCpu; });
}

bool OptimizationItem::HasKernel(absl::string_view op, const Node& node,
                                 const AttrMap& attrs) const {
  const KernelRegistry& registry = KernelRegistry::Global();
  const absl::string_view device_type = DeviceTypeOf(*this, node);
  return attrs.empty() ? registry.HasKernel(op, device_type)
                       : registry.Find(op, device_type, attrs).ok();
}

}  // namespace tessera
