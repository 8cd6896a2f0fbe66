#include "runtime/device/cuda/cuda_device.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_capture.h"

namespace tessera {
namespace {

absl::StatusOr<int> NumStreams() {
  constexpr int kDefault = 4, kMost = 16;
  const char* const setting = std::getenv("TESSERA_GPU_STREAMS");
  if (setting == nullptr) return kDefault;
  int count = 0;
  if (!absl::SimpleAtoi(setting, &count) || count < 1 || count > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat("TESSERA_GPU_STREAMS must be from 1 to ", kMost, ", is '", setting, "'"));
  }
  return count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaComputeStream>> CudaComputeStream::Make(
    const std::string& device, CudaGpu* gpu) {
  const int number = gpu->memory().AddStream();
  std::unique_ptr<CudaComputeStream> made(new CudaComputeStream(gpu, number));
  ASSIGN_OR_RETURN(made->stream_, CudaStream::Make({.gpu = gpu->gpu(),
                                                    .priority = gpu->priority(),
                                                    .device = device,
                                                    .events = &gpu->events(),
                                                    .pinned = gpu->pinned(),
                                                    .memory = made->memory(),
                                                    .shared_memory = &gpu->memory(),
                                                    .number = number,
                                                    .on_lost = [gpu](const absl::Status& status) {
                                                      gpu->ReportLost(status);
                                                    }}));
  gpu->SetStream(number, made->stream_.get());
  return made;
}

CudaComputeStream::~CudaComputeStream() {
  // Whoever gets its memory from now on waits for nothing.
  if (stream_ != nullptr) stream_->Synchronize().IgnoreError();
  gpu_->SetStream(number_, nullptr);
  stream_.reset();
  {
    absl::MutexLock lock(&capture_mu_);
    capture_streams_.clear();
  }
  gpu_->memory().RemoveStream(number_);
}

absl::StatusOr<std::unique_ptr<WorkCapture>> CudaComputeStream::BeginCapture() {
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
  RETURN_IF_ERROR(stream->MakeHandlesOf(*stream_));
  return CudaCapture::Begin(std::move(stream), stream_.get(),
                            [this](std::unique_ptr<CudaStream> unused) {
                              absl::MutexLock lock(&capture_mu_);
                              capture_streams_.push_back(std::move(unused));
                            });
}

class CudaDevice::FurtherStream final : public Device, public CapturingDevice {
 public:
  FurtherStream(const CudaDevice& device, std::unique_ptr<CudaComputeStream> stream)
      : Device(device.name(), device.priority()), device_(device), stream_(std::move(stream)) {
    SetMemory(stream_->stream(), stream_->memory(), device.allocator(MemoryKind::kPinned));
  }

  DeviceStats stats() const override { return device_.stats(); }
  std::string description() const override { return device_.description(); }
  absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture() override {
    return stream_->BeginCapture();
  }

 private:
  const CudaDevice& device_;
  const std::unique_ptr<CudaComputeStream> stream_;
};

CudaDevice::CudaDevice(DeviceName name, int priority, std::shared_ptr<CudaGpu> gpu)
    : Device(std::move(name), priority), gpu_(std::move(gpu)) {}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Make(DeviceName name, int priority,
                                                             std::shared_ptr<CudaGpu> gpu) {
  ASSIGN_OR_RETURN(const int count, NumStreams());
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(name), priority, std::move(gpu)));
  CudaGpu* const shared = device->gpu_.get();
  ASSIGN_OR_RETURN(device->first_stream_, CudaComputeStream::Make(device->full_name(), shared));
  CudaComputeStream& first = *device->first_stream_;
  device->SetMemory(first.stream(), first.memory(), shared->pinned());
  std::vector<Device*> streams = {device.get()};
  for (int i = 1; i < count; ++i) {
    ASSIGN_OR_RETURN(auto further, CudaComputeStream::Make(device->full_name(), shared));
    device->further_streams_.push_back(
        std::make_unique<FurtherStream>(*device, std::move(further)));
    streams.push_back(device->further_streams_.back().get());
  }
  device->pool_ = std::make_unique<StreamPool>(std::move(streams));
  return device;
}

CudaDevice::~CudaDevice() {
  // Work of one stream may hold the last share in a buffer of another.
  if (pool_ != nullptr) {
    for (Device* device : pool_->devices()) device->stream()->Synchronize().IgnoreError();
  }
  further_streams_.clear();
  first_stream_.reset();
  gpu_->memory().ReleaseUnused();
}

}  // namespace tessera
