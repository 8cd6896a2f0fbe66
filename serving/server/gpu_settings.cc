#include "serving/server/gpu_settings.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera::serving {
namespace {

absl::StatusOr<std::vector<int>> ReadVisible(const std::string& list) {
  std::vector<int> visible;
  for (absl::string_view text : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    int gpu = 0;
    if (!absl::SimpleAtoi(text, &gpu) || gpu < 0 ||
        std::find(visible.begin(), visible.end(), gpu) != visible.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("gpu_options.visible_device_list must be different numbers of GPUs, such as "
                       "\"0,2\"; is \"",
                       list, "\""));
    }
    visible.push_back(gpu);
  }
  return visible;
}

using VirtualDevices = tensorflow::GPUOptions::Experimental::VirtualDevices;

absl::StatusOr<std::vector<GpuOptions::VirtualDevice>> ReadVirtualDevices(
    const VirtualDevices& proto) {
  constexpr char kField[] = "gpu_options.experimental.virtual_devices: ";
  const int count = proto.memory_limit_mb_size();
  for (const auto& [name, size] : {std::pair("priority", proto.priority_size()),
                                   std::pair("device_ordinal", proto.device_ordinal_size())}) {
    if (size == 0 || size == count) continue;
    return absl::InvalidArgumentError(absl::StrCat(kField, "there must be as many of ", name,
                                                   " as of memory_limit_mb; are ", size, " and ",
                                                   count));
  }
  std::vector<GpuOptions::VirtualDevice> devices(count);
  for (int i = 0; i < count; ++i) {
    devices[i].memory_limit_mb = proto.memory_limit_mb(i);
    if (!(devices[i].memory_limit_mb > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          kField, "memory_limit_mb must be positive; is ", devices[i].memory_limit_mb));
    }
    if (proto.priority_size() > 0) devices[i].priority = proto.priority(i);
    if (proto.device_ordinal_size() > 0) devices[i].ordinal = proto.device_ordinal(i);
  }
  return devices;
}

absl::Status ReadExperimental(const tensorflow::GPUOptions::Experimental& proto,
                              GpuOptions* options) {
  for (const VirtualDevices& gpu : proto.virtual_devices()) {
    ASSIGN_OR_RETURN(options->virtual_devices.emplace_back(), ReadVirtualDevices(gpu));
  }
  options->num_equal_devices = std::max(proto.num_virtual_devices_per_gpu(), 1);
  options->fragmentation_fraction = proto.internal_fragmentation_fraction();
  if (!(options->fragmentation_fraction >= 0 && options->fragmentation_fraction <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("gpu_options.experimental.internal_fragmentation_fraction must be from 0 to "
                     "1; is ",
                     options->fragmentation_fraction));
  }
  if (const float limit = proto.gpu_host_mem_limit_in_mb(); limit > 0) {
    options->pinned_limit = static_cast<int64_t>(limit * (1 << 20));
  }
  options->pinned_allow_growth = !proto.gpu_host_mem_disallow_growth();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GpuOptions> ReadGpuOptions(const tensorflow::GPUOptions& proto) {
  GpuOptions options;
  options.memory_fraction = proto.per_process_gpu_memory_fraction();
  if (!(options.memory_fraction >= 0 && options.memory_fraction <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("gpu_options.per_process_gpu_memory_fraction must be from 0 to 1; is ",
                     options.memory_fraction));
  }
  options.allow_growth = proto.allow_growth();
  ASSIGN_OR_RETURN(options.visible, ReadVisible(proto.visible_device_list()));
  RETURN_IF_ERROR(ReadExperimental(proto.experimental(), &options));
  if (proto.polling_active_delay_usecs() > 0) {
    options.poll_interval = absl::Microseconds(proto.polling_active_delay_usecs());
  }
  return options;
}

const std::set<std::string>& UsedGpuFields() {
  static const auto* const fields = new std::set<std::string>{
      "gpu_options.per_process_gpu_memory_fraction",
      "gpu_options.allow_growth",
      "gpu_options.visible_device_list",
      "gpu_options.polling_active_delay_usecs",
      "gpu_options.experimental.gpu_host_mem_disallow_growth",
      "gpu_options.experimental.gpu_host_mem_limit_in_mb",
      "gpu_options.experimental.internal_fragmentation_fraction",
      "gpu_options.experimental.num_virtual_devices_per_gpu",
      "gpu_options.experimental.virtual_devices",
  };
  return *fields;
}

}  // namespace tessera::serving
