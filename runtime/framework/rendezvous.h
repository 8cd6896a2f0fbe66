// The meeting point of Send and Recv.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A table of tensors in flight, by key. Each key is sent once and received once, in either order.
// Thread-safe.
class Rendezvous {
 public:
  // `status` is OK, or why no tensor will come; a dead tensor has is_dead set and no value.
  using DoneCallback = std::function<void(absl::Status status, Tensor tensor, bool is_dead)>;
  virtual ~Rendezvous() = default;

  // Errors: the abort's status; INTERNAL for a key that was sent before.
  virtual absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) = 0;
  // Calls `done` once, at once if the tensor is there, possibly on the sender's thread.
  virtual void RecvAsync(absl::string_view key, DoneCallback done) = 0;
  // Ends all waiting and later calls with `status`, which must not be OK.
  virtual void Abort(absl::Status status) = 0;
};

// "send_device;incarnation;recv_device;tensor_name;frame:iter", TensorFlow's key.
std::string RendezvousKey(absl::string_view send_device, uint64_t incarnation,
                          absl::string_view recv_device, absl::string_view tensor_name,
                          int64_t frame_id, int64_t iteration);

}  // namespace tessera
