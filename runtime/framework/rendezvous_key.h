// What the keys of a rendezvous say.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// The parts of a key that RendezvousKey() makes. The devices tell a rendezvous that spans processes
// where a tensor comes from and where it is wanted.
struct RendezvousKeyParts {
  absl::string_view send_device;  // full device names; views of the key, as all texts here
  uint64_t incarnation = 0;       // of the sending device: Device::incarnation()
  absl::string_view recv_device;
  absl::string_view tensor_name;
  int64_t frame_id = 0;
  int64_t iteration = 0;
};

// Errors: INVALID_ARGUMENT for what RendezvousKey() cannot have made.
absl::StatusOr<RendezvousKeyParts> ParseRendezvousKey(absl::string_view key);

}  // namespace tessera
