// The device on which kernels run while their work is captured.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/capture/run_values.h"
#include "runtime/device/memory/bfc_allocator.h"
#include "runtime/framework/device.h"

namespace tessera {

// Stands for `device` in the contexts of kernels: it has the same name, but the stream of a
// capture, and memory that stays the capture's. What one kernel releases is given to later ones of
// the same capture, and to nobody else until this object dies, so that the captured work may be
// enqueued at any time.
//
// Outlives all of its buffers; the process aborts otherwise. Thread-safe.
class CaptureDevice final : public Device, public RunValues, private RegionSource {
 public:
  // `device` and `stream` outlive this object.
  CaptureDevice(const Device& device, Stream* stream);
  ~CaptureDevice() override;

  std::string description() const override { return device_.description(); }
  // Returns the statistics of the memory that the capture holds.
  DeviceStats stats() const override { return memory_->stats(); }

  absl::StatusOr<Tensor> AddRunValue(DType dtype, const Shape& shape, Make make) override;
  // Makes the values of another run, and copies them to the device by `stream`. Errors:
  // RESOURCE_EXHAUSTED.
  absl::Status UploadRunValues(Stream& stream) const;

 private:
  struct RunValue {
    Tensor on_device;
    Make make;
  };

  // RegionSource: buffers of `device_`.
  absl::StatusOr<char*> Allocate(size_t size) override;
  void Free(char* region, size_t size) override;
  void AwaitWork() override {}

  const Device& device_;
  std::map<char*, IntrusivePtr<Buffer>> regions_;  // used under the allocator's lock
  std::unique_ptr<BfcAllocator> memory_;
  std::vector<RunValue> run_values_;  // in memory of `device_`
};

}  // namespace tessera
