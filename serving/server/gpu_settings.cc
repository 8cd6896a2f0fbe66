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
  for (const auto& gpu : proto.experimental().virtual_devices()) {
    for (float limit : gpu.memory_limit_mb()) {
      if (limit > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "gpu_options.experimental.virtual_devices: memory_limit_mb must be positive; is ",
          limit));
    }
    options.virtual_limits_mb.emplace_back(gpu.memory_limit_mb().begin(),
                                           gpu.memory_limit_mb().end());
  }
  if (const float limit = proto.experimental().gpu_host_mem_limit_in_mb(); limit > 0) {
    options.pinned_limit = static_cast<int64_t>(limit * (1 << 20));
  }
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
      "gpu_options.experimental.gpu_host_mem_limit_in_mb",
      "gpu_options.experimental.virtual_devices",
  };
  return *fields;
}

}  // namespace tessera::serving
