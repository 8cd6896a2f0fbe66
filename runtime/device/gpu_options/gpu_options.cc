#include "runtime/device/gpu_options/gpu_options.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
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
