// The queue of a device's work.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Work that a device does in the order in which it was put in, some time after the call that put it
// in has returned. Kernels of the device's own folder know the subclass and enqueue their work
// there; everybody else needs only what is declared here.
//
//   stream.Copy(host_x, &x);             // to the device
//   ...                                  // kernels enqueue y = f(x)
//   stream.Copy(y, &host_y);             // back
//   stream.Then([](absl::Status s) {});  // host_y may be read from here on
//
// Memory is ordered with the stream: a buffer of the device may be released as soon as its last use
// is enqueued, because whoever gets the bytes next enqueues its work later. This holds for one
// stream; a device with several makes them wait for each other where memory changes hands.
//
// Thread-safe. The order of calls from several threads is the order in which they take effect.
class Stream {
 public:
  // `status` is the first error of any work that was enqueued before.
  using Callback = std::function<void(absl::Status status)>;

  virtual ~Stream() = default;

  // Copies the bytes of `from` into those of `*to`, of equal size, of any two memory kinds, this
  // device's among them. Shares in both buffers are held until the copy is done. Requires a
  // trivially copyable dtype.
  virtual void Copy(const Tensor& from, Tensor* to) = 0;
  // Sets all bytes of the tensor to zero.
  virtual void Zero(Tensor* tensor) = 0;
  // Calls `done` once all work that was enqueued before is done, on a thread of the stream's, which
  // must not be held up: it may call Copy() and Then(), but not Synchronize().
  virtual void Then(Callback done) = 0;
  // Waits for all work that was enqueued before, and returns its first error.
  absl::Status Synchronize();
};

}  // namespace tessera
