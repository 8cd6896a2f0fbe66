#include "runtime/device/gpu_options/gpu_options.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/framework/device_factory.h"

namespace tessera {
namespace {

struct Current {
  absl::Mutex mu;
  GpuOptions options ABSL_GUARDED_BY(mu);
};
Current& TheCurrent() {
  static auto* const current = new Current;
  return *current;
}

void ApplyEnvironment(GpuOptions* options) {
  constexpr char kAllowGrowth[] = "TF_FORCE_GPU_ALLOW_GROWTH";
  const char* const setting = std::getenv(kAllowGrowth);
  if (setting == nullptr) return;
  const absl::string_view value = setting;
  if (value == "true" || value == "false") {
    options->allow_growth = value == "true";
  } else {
    LOG(WARNING) << kAllowGrowth << " must be true or false, is '" << value
                 << "', and has no effect";
  }
}

}  // namespace

std::vector<GpuPart> PartsOf(const GpuOptions& options, const std::vector<int>& gpus) {
  struct Numbered {
    int ordinal;
    GpuPart part;
  };
  std::vector<Numbered> numbered;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (i < options.virtual_devices.size() && !options.virtual_devices[i].empty()) {
      int number = 0;
      for (const GpuOptions::VirtualDevice& device : options.virtual_devices[i]) {
        // Not 0, which says that there is no limit, and no more than a size can be.
        const double limit = std::clamp(device.memory_limit_mb * (1 << 20), 1.0, 0x1p62);
        numbered.push_back({device.ordinal,
                            {.gpu = gpus[i],
                             .virtual_part = ++number,
                             .memory_limit = static_cast<size_t>(limit),
                             .priority = device.priority}});
      }
    } else if (options.num_equal_devices > 1) {
      for (int number = 1; number <= options.num_equal_devices; ++number) {
        numbered.push_back(
            {0, {.gpu = gpus[i], .virtual_part = number, .num_shares = options.num_equal_devices}});
      }
    } else {
      numbered.push_back({0, {.gpu = gpus[i]}});
    }
  }
  std::stable_sort(numbered.begin(), numbered.end(),
                   [](const Numbered& a, const Numbered& b) { return a.ordinal < b.ordinal; });
  std::vector<GpuPart> parts;
  for (const Numbered& device : numbered) parts.push_back(device.part);
  return parts;
}

absl::StatusOr<size_t> GpuMemoryLimit(const GpuOptions& options, size_t free, size_t total) {
  if (options.memory_fraction < 0 || options.memory_fraction > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("per_process_gpu_memory_fraction must be from 0 to 1, is ",
                     options.memory_fraction, "; memory is not shared with the host"));
  }
  if (options.memory_fraction == 0) {
    constexpr size_t kMiB = size_t{1} << 20;
    const size_t reserve = free < 2048 * kMiB ? 225 * kMiB : 1536 * kMiB;
    return free > reserve ? free - reserve : 0;
  }
  constexpr double kGiB = 1 << 30;
  const auto wanted = static_cast<size_t>(static_cast<double>(total) * options.memory_fraction);
  if (wanted > free && !options.allow_growth) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "per_process_gpu_memory_fraction asks for %.1f GiB of the GPU's memory, of which %.1f GiB "
        "are free: other processes use the rest",
        static_cast<double>(wanted) / kGiB, static_cast<double>(free) / kGiB));
  }
  return wanted;
}

void SetGpuOptions(GpuOptions options) {
  Current& current = TheCurrent();
  absl::MutexLock lock(&current.mu);
  current.options = std::move(options);
}

GpuOptions CurrentGpuOptions() {
  Current& current = TheCurrent();
  absl::MutexLock lock(&current.mu);
  GpuOptions options = current.options;
  ApplyEnvironment(&options);
  return options;
}

bool IsBuiltForGpus() {
  // A type that the program does not know is an error, even if none of its devices is wanted.
  DeviceOptions none;
  none.count[std::string(kGpu)] = 0;
  return MakeDevices(none).ok();
}

}  // namespace tessera
