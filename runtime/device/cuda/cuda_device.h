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
#include "runtime/device/streams/stream_pool.h"
#include "runtime/framework/device.h"

namespace tessera {

// A compute stream of a device, and the captures of work for it. Thread-safe.
class CudaComputeStream {
 public:
  // `device` is the full name of the device. Errors: those of CUDA.
  static absl::StatusOr<std::unique_ptr<CudaComputeStream>> Make(const std::string& device,
                                                                 CudaGpu* gpu);
  // Waits for its work, and drops the last shares in buffers.
  ~CudaComputeStream();

  CudaStream* stream() { return stream_.get(); }
  Allocator* memory() { return gpu_->memory().allocator(number_); }
  // CUDA graphs, unless TESSERA_CUDA_GRAPHS is 0 in the environment.
  absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture();

 private:
  CudaComputeStream(CudaGpu* gpu, int number) : gpu_(gpu), number_(number) {}

  CudaGpu* const gpu_;
  const int number_;  // in gpu_->memory()
  std::unique_ptr<CudaStream> stream_;
  absl::Mutex capture_mu_;
  // Streams for captures that are not in use. Captured work refers to their workspaces.
  std::vector<std::unique_ptr<CudaStream>> capture_streams_ ABSL_GUARDED_BY(capture_mu_);
};

// Streams of its own on a GPU that sessions share; TESSERA_GPU_STREAMS of the environment says how
// many steps compute at once, 4 by default. Memory goes back to the GPU when the device dies, and,
// with allow_growth, from there to the system.
//
// Thread-safe.
class CudaDevice final : public Device,
                         public LosableDevice,
                         public CapturingDevice,
                         public MultiStreamDevice {
 public:
  static constexpr int kPriority = 200;

  // Errors: those of CUDA; INVALID_ARGUMENT for TESSERA_GPU_STREAMS that is no number from 1 to 16.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Make(DeviceName name, int priority,
                                                          std::shared_ptr<CudaGpu> gpu);
  ~CudaDevice() override;

  // Returns the statistics of the GPU, for all sessions together.
  DeviceStats stats() const override { return gpu_->memory().stats(); }
  std::string description() const override { return gpu_->description(); }
  // Every device on a GPU learns of the loss from the first whose work fails.
  absl::Status Health() const override { return gpu_->Health(); }
  absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture() override {
    return first_stream_->BeginCapture();
  }
  StreamPool& streams() override { return *pool_; }

 private:
  // A stream but the first.
  class FurtherStream;

  CudaDevice(DeviceName name, int priority, std::shared_ptr<CudaGpu> gpu);

  const std::shared_ptr<CudaGpu> gpu_;
  std::unique_ptr<CudaComputeStream> first_stream_;
  std::vector<std::unique_ptr<FurtherStream>> further_streams_;
  std::unique_ptr<StreamPool> pool_;
};

}  // namespace tessera
