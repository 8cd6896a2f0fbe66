// The variables that captured work reads and writes.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/streams/stream_pool.h"
#include "runtime/framework/device.h"
#include "runtime/framework/kernel.h"
#include "runtime/framework/resource_manager.h"

namespace tessera {

// Captured work has the addresses of the variables' values in it. It may be enqueued again as long
// as the values lie where they lay, and as long as nobody else shares a value that the work writes.
//
//   CapturedState state;
//   RETURN_IF_ERROR(state.Add(handle, resources, /*is_written=*/true));
//   RETURN_IF_ERROR(state.Begin(device));
//   ...                                          // kernels run on the capture
//   RETURN_IF_ERROR(state.End(context));         // or state.Abandon()
//   ...
//   state.IfUnchanged([&] { return work->Enqueue(); })
//
// While kernels are captured, nothing is computed, and yet they give the variables new values: in
// the memory of the old one where they can write in place, else in memory of the capture. End()
// takes that back, and lets the work end with copies to where the values were. No other step of the
// device sees that: those that use state wait from Begin() to End().
//
// Holds no share in the values between runs. Used by one thread until End() has returned;
// IfUnchanged() is thread-safe.
class CapturedState {
 public:
  enum class Change {
    kNone,
    kShared,  // somebody holds the value of a variable that is written, for now
    kMoved,   // a value lies elsewhere, or has another shape
  };

  // Adds the variable that a handle names. Errors: FAILED_PRECONDITION if it names something else.
  absl::Status Add(const Tensor& handle, const ResourceManager& resources, bool is_written);
  bool empty() const { return variables_.empty(); }
  // True if some variable is written.
  bool is_written() const;

  // Notes where the values lie, and prepares those that are written for End(). Errors:
  // FAILED_PRECONDITION for values in host memory; UNAVAILABLE if the variables cannot be captured
  // now, but perhaps later: one has no value, is shared, or other steps use the state of the
  // device. If it succeeds, End() or Abandon() must follow soon.
  absl::Status Begin(Device& device);
  // Gives the variables the values that they had before Begin(), and copies back in `ctx`, whose
  // stream is the capture's, what kernels have left elsewhere.
  // Errors: FAILED_PRECONDITION for a value of another shape; UNAVAILABLE if a variable that is
  // only read has got another value since Begin().
  absl::Status End(KernelContext& ctx);
  // Only gives the variables their values, for a capture that has failed.
  void Abandon();

  // Returns a copy, made in the captured work, if the tensor is part of a variable's value, which
  // later nodes may change; else the tensor itself. Between Begin() and End().
  absl::StatusOr<Tensor> Snapshot(KernelContext& ctx, const Tensor& tensor) const;

  // Calls `enqueue` while all variables are locked, if they are as they were at Begin(). Returns
  // what is different otherwise. Errors: those of `enqueue`.
  absl::StatusOr<Change> IfUnchanged(absl::FunctionRef<absl::Status()> enqueue) const;

 private:
  struct CapturedVariable {
    IntrusivePtr<Variable> variable;
    bool is_written = false;
    DType dtype = DType::kInvalid;
    Shape shape;
    char* address = nullptr;
    size_t size = 0;
    // Between Begin() and End(): the value at Begin(). If the variable is written, its value
    // meanwhile is a view of this.
    Tensor value;

    bool IsAt(const Tensor& tensor) const {
      return tensor.dtype() == dtype && tensor.shape() == shape && tensor.address() == address;
    }
  };

  static absl::Status Prepare(CapturedVariable& captured, Tensor& value);
  // Sets the first `count` variables to the values they had, and returns those they have now.
  std::vector<Tensor> TakeBack(size_t count);
  // Lets other steps use the state of the device again, and go of the values that are only read.
  // Returns whether their variables still have them.
  bool Release();
  absl::Status CopyBack(KernelContext& ctx, std::vector<Tensor>* finals) const;
  absl::StatusOr<Change> CheckFrom(size_t next, absl::FunctionRef<absl::Status()> enqueue) const;

  std::vector<CapturedVariable> variables_;  // in the order of their addresses, as they are locked
  // Between Begin() and End(), if some variable is written: whose stream that orders state is used
  // by this step alone.
  StreamPool* exclusive_ = nullptr;
};

}  // namespace tessera
