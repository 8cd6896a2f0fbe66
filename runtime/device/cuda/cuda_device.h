// A GPU as a device of a session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/capture/work_capture.h"
#include "runtime/device/cuda/cuda_gpu.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/health/device_health.h"
#include "runtime/framework/device.h"

namespace tessera {

// Streams of its own on a GPU that sessions share. Memory goes back to the GPU when the device
// dies, and, with allow_growth, from there to the system.
//
// Thread-safe.
class CudaDevice final : public Device, public LosableDevice, public CapturingDevice {
 public:
  static constexpr int kPriority = 200;

  // Errors: those of CUDA.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Make(DeviceName name, int priority,
                                                          std::shared_ptr<CudaGpu> gpu);
  ~CudaDevice() override;

  // Of the GPU: all sessions together.
  DeviceStats stats() const override { return gpu_->memory().stats(); }
  std::string description() const override { return gpu_->description(); }
  // Every device on a GPU learns of the loss from the first whose work fails.
  absl::Status Health() const override { return gpu_->Health(); }
  // CUDA graphs, unless TESSERA_CUDA_GRAPHS is 0 in the environment.
  absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture() override;

 private:
  CudaDevice(DeviceName name, int priority, std::shared_ptr<CudaGpu> gpu, int stream_number)
      : Device(std::move(name), priority), gpu_(std::move(gpu)), stream_number_(stream_number) {}

  const std::shared_ptr<CudaGpu> gpu_;
  const int stream_number_;  // in gpu_->memory()
  std::unique_ptr<CudaStream> stream_;
  absl::Mutex capture_mu_;
  // Streams for captures that are not in use. Captured work refers to their workspaces.
  std::vector<std::unique_ptr<CudaStream>> capture_streams_ ABSL_GUARDED_BY(capture_mu_);
};

}  // namespace tessera
