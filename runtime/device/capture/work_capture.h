// Work of a device that is captured once and enqueued many times, as CUDA graphs are.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/framework/stream.h"

namespace tessera {

// Work at fixed addresses. Thread-safe.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  // Makes all that is enqueued later come after the copies to host memory that are enqueued now,
  // such as those of the results of the run before, whose memory this work writes again. Called
  // before what the work reads is copied to where it reads it. Errors: those of the device.
  virtual absl::Status AwaitCopiesToHost() = 0;
  // Enqueues all of the work on the stream of its device, in the order in which it was captured.
  // Returns the error of enqueuing it; errors of the work itself come by Stream::Then().
  virtual absl::Status Enqueue() = 0;
};

// Keeps what is enqueued on its stream, and does none of it.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<WorkCapture> capture, device->BeginCapture());
//   ...                                            // kernels enqueue on capture->stream()
//   ASSIGN_OR_RETURN(std::unique_ptr<CapturedWork> work, capture->End());
//   RETURN_IF_ERROR(work->AwaitCopiesToHost());    // both as often as wanted
//   RETURN_IF_ERROR(work->Enqueue());
//
// The memory of the device that the work uses must stay where it is as long as the work lives.
// Bytes that are copied from host memory are those which are there when Copy() is called. Nothing
// can wait for work that is not done: Then() calls back at once with FAILED_PRECONDITION, and a
// copy to host memory fails; End() returns that error, too.
//
// Used by one thread.
class WorkCapture {
 public:
  virtual ~WorkCapture() = default;
  virtual Stream* stream() = 0;
  // Called once. Errors: FAILED_PRECONDITION for what cannot be captured; those of the device.
  virtual absl::StatusOr<std::unique_ptr<CapturedWork>> End() = 0;
};

// Implemented by devices that can capture work. The device outlives captures and captured work.
class CapturingDevice {
 public:
  virtual ~CapturingDevice() = default;
  // The capture takes nothing of the device's stream, which goes on meanwhile. Thread-safe. Errors:
  // FAILED_PRECONDITION if captures are switched off; those of the device.
  virtual absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture() = 0;
};

}  // namespace tessera
