// Devices: where kernels run, and whose memory they work in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/framework/device_name.h"
#include "runtime/framework/stream.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// The use of a device's own memory. All counts are since the device was made.
struct DeviceStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_limit = 0;  // 0: not known
  int64_t num_allocations = 0;
};

// Somewhere kernels run.
//
// A CPU has host memory alone, and its kernels have done their work when they return. An
// accelerator has memory of its own and a stream: its kernels enqueue work there and return. The
// planner (runtime/exec/planner.h) puts a copy on each edge where one kernel gives a value in a
// memory kind that the next one does not take; a kernel thus finds each input, and allocates each
// output, in the memory kind that its registration says (see KernelBuilder::HostMemory()).
//
//   // A value that a kernel of the device gives:
//   ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(dtype, shape, device->allocator(kind)));
//   // What leaves for the host:
//   ASSIGN_OR_RETURN(Tensor host, Tensor::Allocate(dtype, shape,
//                                                  device->allocator(MemoryKind::kPinned)));
//   device->stream()->Copy(y, &host);
//   RETURN_IF_ERROR(device->stream()->Synchronize());
//
// A session owns its devices; they outlive its programs, resources and steps. Several of them may
// share one piece of hardware. Thread-safe.
class Device {
 public:
  // A device without a stream has host memory alone.
  Device(DeviceName name, int priority);
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Complete: "/job:localhost/replica:0/task:0/device:CPU:0".
  const DeviceName& name() const { return name_; }
  const std::string& full_name() const { return full_name_; }
  absl::string_view type() const { return *name_.type; }
  // Tells this life of the device from earlier and later ones under the same name. Never 0.
  uint64_t incarnation() const { return incarnation_; }
  // Among devices that can run a node which asks for none, the one with the highest takes it.
  int priority() const { return priority_; }

  // The memory kind of whatever a kernel of this device does not declare as host memory.
  MemoryKind memory_kind() const { return memory_kind_; }
  // Returns the memory kind of a value of this dtype that enters or leaves a function which runs
  // here.
  MemoryKind KindOf(DType dtype) const {
    return IsTriviallyCopyable(dtype) ? memory_kind_ : MemoryKind::kHost;
  }
  // Never null. Without memory of its own, a device gives host memory for every kind.
  Allocator* allocator(MemoryKind kind) const { return allocators_[static_cast<int>(kind)]; }
  // Null on devices whose kernels have done their work when they return.
  Stream* stream() const { return stream_; }

  // Returns the statistics of the device's own memory; all zero where it has none.
  virtual DeviceStats stats() const { return DeviceStats(); }
  // Returns a description of the hardware for people: "16 cores", "NVIDIA H100, compute capability
  // 9.0".
  virtual std::string description() const { return ""; }

 protected:
  // For devices that take host memory from another allocator than the heap.
  void SetHostMemory(Allocator* host) { allocators_[static_cast<int>(MemoryKind::kHost)] = host; }
  // For devices with memory of their own. The stream and the allocators are the subclass's members.
  void SetMemory(Stream* stream, Allocator* device, Allocator* pinned);

 private:
  const DeviceName name_;
  const std::string full_name_;
  const uint64_t incarnation_;
  const int priority_;
  MemoryKind memory_kind_ = MemoryKind::kHost;
  Allocator* allocators_[kNumMemoryKinds];
  Stream* stream_ = nullptr;
};

}  // namespace tessera
