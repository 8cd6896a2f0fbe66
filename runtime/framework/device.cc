#include "runtime/framework/device.h"

#include <random>
#include <utility>

namespace tessera {
namespace {

// Positive as an attribute of type int, too.
uint64_t NewIncarnation() {
  std::random_device random;
  return (uint64_t{random()} << 30 ^ random()) | 1;
}

}  // namespace

Device::Device(DeviceName name, int priority)
    : name_(std::move(name)),
      full_name_(name_.ToString()),
      incarnation_(NewIncarnation()),
      priority_(priority) {
  for (Allocator*& allocator : allocators_) allocator = HeapAllocator();
}

void Device::SetMemory(Stream* stream, Allocator* device, Allocator* pinned) {
  stream_ = stream;
  memory_kind_ = MemoryKind::kDevice;
  allocators_[static_cast<int>(MemoryKind::kPinned)] = pinned;
  allocators_[static_cast<int>(MemoryKind::kDevice)] = device;
}

}  // namespace tessera
