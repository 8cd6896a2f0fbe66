// A GPU as a device of a session.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/device/cuda/cuda_gpu.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/framework/device.h"

namespace tessera {

// Streams of its own on a GPU that sessions share. Memory goes back to the GPU when the device
// dies, and, with allow_growth, from there to the system.
//
// Thread-safe.
class CudaDevice final : public Device {
 public:
  static constexpr int kPriority = 200;

  // Errors: those of CUDA.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Make(DeviceName name, int priority,
                                                          std::shared_ptr<CudaGpu> gpu);
  ~CudaDevice() override;

  // Of the GPU: all sessions together.
  DeviceStats stats() const override { return gpu_->memory().stats(); }
  std::string description() const override { return gpu_->description(); }

 private:
  CudaDevice(DeviceName name, int priority, std::shared_ptr<CudaGpu> gpu, int stream_number)
      : Device(std::move(name), priority), gpu_(std::move(gpu)), stream_number_(stream_number) {}

  const std::shared_ptr<CudaGpu> gpu_;
  const int stream_number_;  // in gpu_->memory()
  std::unique_ptr<CudaStream> stream_;
};

}  // namespace tessera
