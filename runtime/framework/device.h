// Devices and their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include "absl/strings/string_view.h"

#include "absl/status/statusor.h"
#include "runtime/tensor/buffer.h"

namespace tessera {

inline constexpr absl::string_view kCpu = "CPU";
inline constexpr absl::string_view kGpu = "GPU";

// A device name, any part of which may be open: "/job:worker/replica:0/task:1/device:CPU:0",
// "/cpu:0", "/device:GPU:*", "". A value type.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case
  std::optional<int> id;

  // Errors: INVALID_ARGUMENT naming the malformed part.
  static absl::StatusOr<DeviceName> Parse(absl::string_view text);
  std::string ToString() const;
  // True if every part given here equals the other's.
  bool Matches(const DeviceName& full) const;
  // Parts of `other` where this one is open. Errors: INVALID_ARGUMENT if given parts clash.
  absl::Status MergeFrom(const DeviceName& other);
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// Somewhere kernels run. Thread-safe; lives as long as its session.
class Device {
 public:
  Device(DeviceName name, Allocator* allocator) : name_(std::move(name)), allocator_(allocator) {}
  virtual ~Device() = default;

  const DeviceName& name() const { return name_; }
  absl::string_view type() const { return *name_.type; }
  Allocator* allocator() const { return allocator_; }

 private:
  const DeviceName name_;
  Allocator* const allocator_;
};

}  // namespace tessera
