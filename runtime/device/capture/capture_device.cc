#include "runtime/device/capture/capture_device.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/base/status.h"

namespace tessera {

CaptureDevice::CaptureDevice(const Device& device, Stream* stream)
    : Device(device.name(), device.priority()), device_(device) {
  // The memory of `device_` is the limit.
  memory_ = std::make_unique<BfcAllocator>(
      BfcAllocator::Options{.name = full_name(),
                            .limit = std::numeric_limits<size_t>::max() / 4,
                            .allow_growth = true},
      static_cast<RegionSource*>(this), /*order=*/nullptr);
  SetMemory(stream, memory_->allocator(memory_->AddStream()),
            device.allocator(MemoryKind::kPinned));
}

CaptureDevice::~CaptureDevice() { memory_.reset(); }

absl::StatusOr<char*> CaptureDevice::Allocate(size_t size) {
  ASSIGN_OR_RETURN(
      IntrusivePtr<Buffer> buffer,
      device_.allocator(MemoryKind::kDevice)->Allocate(size + BfcAllocator::kAlignment));
  const uintptr_t address = reinterpret_cast<uintptr_t>(buffer->address());
  const uintptr_t misalignment = address % BfcAllocator::kAlignment;
  char* const region =
      buffer->address() + (misalignment == 0 ? 0 : BfcAllocator::kAlignment - misalignment);
  regions_.emplace(region, std::move(buffer));
  return region;
}

void CaptureDevice::Free(char* region, size_t /*size*/) { regions_.erase(region); }

absl::StatusOr<Tensor> CaptureDevice::AddRunValue(DType dtype, const Shape& shape, Make make) {
  // Not memory of the capture, whose bytes serve one tensor after the other.
  ASSIGN_OR_RETURN(Tensor on_device,
                   Tensor::Allocate(dtype, shape, device_.allocator(MemoryKind::kDevice)));
  run_values_.push_back({on_device, std::move(make)});
  return on_device;
}

absl::Status CaptureDevice::UploadRunValues(Stream& stream) const {
  for (const RunValue& value : run_values_) {
    Tensor to = value.on_device;
    ASSIGN_OR_RETURN(Tensor from, Tensor::Allocate(to.dtype(), to.shape(),
                                                   device_.allocator(MemoryKind::kPinned)));
    value.make(&from);
    if (to.num_elements() > 0) stream.Copy(from, &to);
  }
  return absl::OkStatus();
}

}  // namespace tessera
