// The GPU options of ConfigProto.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/device/gpu_options/gpu_options.h"

namespace tensorflow {
class GPUOptions;
}  // namespace tensorflow

namespace tessera::serving {

// Reads the options that are obeyed. Errors: INVALID_ARGUMENT for a visible_device_list that is no
// list of different numbers, a share of memory outside of 0 to 1, limits of virtual devices that
// are not positive, and priorities or ordinals of virtual devices that are not one for each limit.
absl::StatusOr<GpuOptions> ReadGpuOptions(const tensorflow::GPUOptions& proto);

// The fields that ReadGpuOptions() reads, as paths in ConfigProto (unused_fields.h).
const std::set<std::string>& UsedGpuFields();

}  // namespace tessera::serving
