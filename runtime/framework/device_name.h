// Names of devices.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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
  // Takes the parts of `other` where this one is open. Errors: INVALID_ARGUMENT if given parts
  // clash.
  absl::Status MergeFrom(const DeviceName& other);
  // The same, but where parts clash this one's stay.
  void FillFrom(const DeviceName& other);
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

}  // namespace tessera
