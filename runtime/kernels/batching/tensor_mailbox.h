// TensorMailbox: hands tensors from one step to another, by numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A tensor that is put before it is taken is kept for a while; a taker that comes first waits. A
// number is used once. Thread-safe.
class TensorMailbox : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "tensor_mailbox";
  using Taken = std::function<void(absl::StatusOr<Tensor>)>;

  TensorMailbox();
  // Nobody may wait.
  ~TensorMailbox() override;

  // Gives the tensor to whoever waits for it, on this thread, or keeps it. What is kept longer than
  // `keep` may be dropped.
  void Put(int64_t id, Tensor tensor, absl::Duration keep);
  // Calls `taken` once, from any thread, with the tensor or an error: DEADLINE_EXCEEDED if it does
  // not come within `timeout`; CANCELLED if the step is cancelled; ALREADY_EXISTS if another taker
  // waits for the number. `step` must live until then, and `taken` should hold the mailbox.
  void Take(int64_t id, StepContext& step, absl::Duration timeout, Taken taken);

  std::string DebugString() const override { return "tensor mailbox"; }

 private:
  struct Waiter;
  struct State;

  static void RunTimeouts(const std::shared_ptr<State>& state);
  static void Cancel(State& state, int64_t id);
  static void Finish(Waiter waiter, absl::StatusOr<Tensor> tensor);

  // Shared with the thread that ends late waits, which may drop the last reference to this object.
  const std::shared_ptr<State> state_;
};

}  // namespace tessera
