#include "runtime/device/cuda/cuda_device.h"

#include <cstdlib>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_capture.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Make(DeviceName name, int priority,
                                                             std::shared_ptr<CudaGpu> gpu) {
  ASSIGN_OR_RETURN(const int number, gpu->memory().AddStream());
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(std::move(name), priority, std::move(gpu), number));
  CudaGpu* const shared = device->gpu_.get();
  Allocator* const memory = shared->memory().allocator(number);
  ASSIGN_OR_RETURN(device->stream_,
                   CudaStream::Make({.gpu = shared->gpu(),
                                     .device = device->full_name(),
                                     .events = &shared->events(),
                                     .pinned = shared->pinned(),
                                     .memory = memory,
                                     .on_lost = [shared](const absl::Status& status) {
                                       shared->ReportLost(status);
                                     }}));
  shared->SetStream(number, device->stream_.get());
  device->SetMemory(device->stream_.get(), memory, shared->pinned());
  return device;
}

absl::StatusOr<std::unique_ptr<WorkCapture>> CudaDevice::BeginCapture() {
  static const char* const setting = std::getenv("TESSERA_CUDA_GRAPHS");
  if (setting != nullptr && absl::string_view(setting) == "0") {
    return absl::FailedPreconditionError("TESSERA_CUDA_GRAPHS is 0");
  }
  std::unique_ptr<CudaStream> stream;
  {
    absl::MutexLock lock(&capture_mu_);
    if (!capture_streams_.empty()) {
      stream = std::move(capture_streams_.back());
      capture_streams_.pop_back();
    }
  }
  if (stream == nullptr) {
    CudaStream::Options options = stream_->options();
    options.is_capture = true;
    ASSIGN_OR_RETURN(stream, CudaStream::Make(std::move(options)));
  }
  return CudaCapture::Begin(std::move(stream), stream_.get(),
                            [this](std::unique_ptr<CudaStream> unused) {
                              absl::MutexLock lock(&capture_mu_);
                              capture_streams_.push_back(std::move(unused));
                            });
}

CudaDevice::~CudaDevice() {
  gpu_->SetStream(stream_number_, nullptr);
  // Waits for its work, and drops the last shares in buffers.
  stream_.reset();
  {
    absl::MutexLock lock(&capture_mu_);
    capture_streams_.clear();
  }
  gpu_->memory().RemoveStream(stream_number_);
  gpu_->memory().ReleaseUnused();
}

}  // namespace tessera
