#include "runtime/device/health/device_health.h"

#include "runtime/base/status.h"

namespace tessera {

absl::Status CheckHealth(absl::Span<const Device* const> devices) {
  for (const Device* device : devices) {
    const auto* const losable = dynamic_cast<const LosableDevice*>(device);
    if (losable != nullptr) RETURN_IF_ERROR(losable->Health());
  }
  return absl::OkStatus();
}

}  // namespace tessera
