#include "runtime/device/cuda/cuda_device.h"

#include <utility>

#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Make(DeviceName name, int priority,
                                                             std::shared_ptr<CudaGpu> gpu) {
  ASSIGN_OR_RETURN(const int number, gpu->memory().AddStream());
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(std::move(name), priority, std::move(gpu), number));
  CudaGpu* const shared = device->gpu_.get();
  Allocator* const memory = shared->memory().allocator(number);
  ASSIGN_OR_RETURN(device->stream_, CudaStream::Make({.gpu = shared->gpu(),
                                                      .device = device->full_name(),
                                                      .events = &shared->events(),
                                                      .pinned = shared->pinned(),
                                                      .memory = memory}));
  shared->SetStream(number, device->stream_.get());
  device->SetMemory(device->stream_.get(), memory, shared->pinned());
  return device;
}

CudaDevice::~CudaDevice() {
  gpu_->SetStream(stream_number_, nullptr);
  // Waits for its work, and drops the last shares in buffers.
  stream_.reset();
  gpu_->memory().RemoveStream(stream_number_);
  gpu_->memory().ReleaseUnused();
}

}  // namespace tessera
