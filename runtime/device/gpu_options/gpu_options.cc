#include "runtime/device/gpu_options/gpu_options.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
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

}  // namespace

void SetGpuOptions(GpuOptions options) {
  Current& current = TheCurrent();
  absl::MutexLock lock(&current.mu);
  current.options = std::move(options);
}

GpuOptions CurrentGpuOptions() {
  Current& current = TheCurrent();
  absl::MutexLock lock(&current.mu);
  return current.options;
}

bool IsBuiltForGpus() {
  // A type that the program does not know is an error, even if none of its devices is wanted.
  DeviceOptions none;
  none.count[std::string(kGpu)] = 0;
  return MakeDevices(none).ok();
}

}  // namespace tessera
