// Base of the resources at which steps wait for each other: queues, accumulators, barriers and
// staging areas.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/cancellation.h"
#include "runtime/tensor/resource_handle.h"

namespace tessera {

// Keeps operations that cannot finish yet, in lanes. In an ordered lane, they finish in the order
// in which they began; in another, as soon as they can. No thread waits.
//
//   void Dequeue(CancellationManager* cancellation, Element* element, Done done) {
//     Run(kDequeueLane, cancellation, [this, element]() -> std::optional<absl::Status> {
//       if (elements_.empty()) return std::nullopt;  // tried again when something has changed
//       *element = Pop();
//       return absl::OkStatus();
//     }, std::move(done));
//   }
//
// Thread-safe. mu_ guards the state of the derived class, and is held while attempts run.
class BlockingResource : public Resource {
 public:
  // Tries to finish an operation. Returns its status, or nothing if it has to wait; then it may
  // have done a part, and says so by NoteChange().
  using Attempt = std::function<std::optional<absl::Status>()>;
  using Done = std::function<void(absl::Status)>;

 protected:
  enum class Order : uint8_t { kFirstInFirstOut, kAny };

  explicit BlockingResource(std::initializer_list<Order> lanes) {
    for (const Order order : lanes) lanes_.push_back({order, {}});
  }

  // Starts an operation. An operation that ends while it waits, because its step is cancelled or by
  // Fail(), calls `undo` with the lock held, to take back the part that it has done. `done` is
  // called once, without the lock, by whichever thread makes the operation finish, possibly before
  // this returns; what `attempt` points at must live until then. Cancelled operations end with
  // CANCELLED. `cancellation` and `undo` may be null.
  void Run(int lane, CancellationManager* cancellation, Attempt attempt, Done done,
           std::function<void()> undo = nullptr) ABSL_LOCKS_EXCLUDED(mu_);

  // Changes the state, and then finishes what can be finished.
  absl::Status Change(absl::FunctionRef<absl::Status()> change) ABSL_LOCKS_EXCLUDED(mu_);

  // Makes all operations that wait in a lane end with `status`. Called within Change().
  void Fail(int lane, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // An attempt that has to wait has changed what others wait for.
  void NoteChange() { changed_ = true; }

  mutable absl::Mutex mu_;

 private:
  struct Operation {
    int64_t id;
    Attempt attempt;
    Done done;
    std::function<void()> undo;
    CancellationManager* cancellation;
    CancellationManager::Token token;
    absl::Status status;  // once it has ended
  };

  struct Lane {
    Order order;
    std::list<Operation> waiting;
  };

  // Tries operations until none can go on, and moves those that ended into ended_.
  void TryAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Moves a waiting operation into ended_, and takes back what it has done.
  void End(std::list<Operation>& lane, std::list<Operation>::iterator operation,
           const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls the callbacks of operations that ended.
  static void Finish(std::list<Operation> ended);
  // Takes a waiting operation out. Does nothing if it has ended.
  void Cancel(int64_t id) ABSL_LOCKS_EXCLUDED(mu_);

  std::vector<Lane> lanes_ ABSL_GUARDED_BY(mu_);
  std::list<Operation> ended_ ABSL_GUARDED_BY(mu_);
  int64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  bool changed_ = false;  // written with the lock held
};

}  // namespace tessera
