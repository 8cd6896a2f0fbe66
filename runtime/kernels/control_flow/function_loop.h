// Common parts of kernels that call functions in a loop: their loop variables, and calls that may
// wait.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Takes the loop variables, which are the inputs from `first` on.
std::vector<Tensor> TakeInputs(KernelContext& ctx, int first = 0);

// Makes the loop variables the outputs. Errors: INVALID_ARGUMENT if one has changed its dtype.
absl::Status PutOutputs(KernelContext& ctx, std::vector<Tensor>& values);

// Calls of functions, each of which starts when the one before has ended. A thread is held by a
// call only while it computes.
//
//   AsyncCalls::Run(std::make_unique<LoopOfMine>(ctx, std::move(done)));
class AsyncCalls {
 public:
  explicit AsyncCalls(AsyncOpKernel::DoneCallback done) : done_(std::move(done)) {}
  virtual ~AsyncCalls() = default;

  // Makes the calls, destroys the object, and then calls its `done` with the first error or OK.
  static void Run(std::unique_ptr<AsyncCalls> calls) { calls.release()->RunCalls(); }

 protected:
  using Ended = std::function<void(absl::Status)>;
  // Starts the next call, which calls `ended` once, possibly before this returns.
  virtual void Start(Ended ended) = 0;
  // Deals with the results of the call that has ended. Returns whether there is another one.
  virtual absl::StatusOr<bool> Advance() = 0;

 private:
  enum class Phase { kCalling, kReturned, kEnded };

  void RunCalls();
  bool AdvanceOrEnd();

  AsyncOpKernel::DoneCallback done_;
  absl::Status status_;
  std::atomic<Phase> phase_{Phase::kCalling};
};

}  // namespace tessera
