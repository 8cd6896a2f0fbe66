// Which GPUs there are, and the factory of their devices.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/device/cuda/cuda_status.h"
#include "runtime/device/gpu_options/gpu_options.h"
#include "runtime/framework/device_factory.h"

namespace tessera {
namespace {

std::string CudaVersion(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// Returns how many GPUs there are, or why none can be used.
absl::StatusOr<int> CountGpus() {
  if (void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); driver == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no NVIDIA driver: ", ::dlerror()));
  }
  int driver_version = 0, count = 0;
  cudaDriverGetVersion(&driver_version);
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return absl::FailedPreconditionError(
        absl::StrCat("the NVIDIA driver is too old: it is for CUDA ", CudaVersion(driver_version),
                     ", and this program for CUDA ", CudaVersion(CUDART_VERSION)));
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return absl::NotFoundError("the NVIDIA driver finds no GPU");
  }
  RETURN_IF_ERROR(CudaStatus(error, "cudaGetDeviceCount"));
  return count;
}

// The GPUs that the program has code for, by CUDA's numbers. Says once, in the log, what is there
// and what is missing.
std::vector<int> FindGpus() {
  const absl::StatusOr<int> count = CountGpus();
  if (!count.ok()) {
    LOG(INFO) << "no GPU is used: " << count.status().message();
    return {};
  }
  constexpr int kOldestMajor = 8;
  std::vector<int> gpus;
  for (int gpu = 0; gpu < *count; ++gpu) {
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu);
    if (major >= kOldestMajor) {
      gpus.push_back(gpu);
    } else {
      LOG(WARNING) << "GPU " << gpu << " is not used: its compute capability is " << major
                   << ".x, and " << kOldestMajor << ".0 is needed";
    }
  }
  for (const std::string& library : DescribeCudaLibraries()) LOG(INFO) << library;
  return gpus;
}

const std::vector<int>& AllGpus() {
  static const auto* const gpus = new std::vector<int>(FindGpus());
  return *gpus;
}

// The GPUs of gpu_options.visible_device_list.
absl::StatusOr<std::vector<int>> VisibleGpus(const GpuOptions& options) {
  const std::vector<int>& all = AllGpus();
  if (options.visible.empty() || all.empty()) return all;
  for (int gpu : options.visible) {
    if (std::find(all.begin(), all.end(), gpu) != all.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("visible_device_list names GPU ", gpu,
                                                   ", but there are: ", absl::StrJoin(all, ", ")));
  }
  return options.visible;
}

absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeGpus(const DeviceName& task, int count,
                                                              int priority) {
  std::vector<std::unique_ptr<Device>> devices;
  if (count == 0) return devices;
  const GpuOptions options = CurrentGpuOptions();
  ASSIGN_OR_RETURN(const std::vector<int> visible, VisibleGpus(options));
  for (const GpuPart& part : PartsOf(options, visible)) {
    if (count >= 0 && devices.size() == static_cast<size_t>(count)) break;
    ASSIGN_OR_RETURN(std::shared_ptr<CudaGpu> gpu, CudaGpu::Get(part, options));
    DeviceName name = task;
    name.type = std::string(kGpu);
    name.id = static_cast<int>(devices.size());
    ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device,
                     CudaDevice::Make(std::move(name), priority, std::move(gpu)));
    devices.push_back(std::move(device));
  }
  return devices;
}

REGISTER_DEVICE_FACTORY(kGpu, CudaDevice::kPriority, MakeGpus);

}  // namespace
}  // namespace tessera
