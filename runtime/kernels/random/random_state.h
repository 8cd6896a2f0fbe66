// The states of random ops that draw from a generator of their own, such as RandomUniform:
// resources of the session, so that a training run can save them and go on with the same numbers.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/kernels/primitives/philox.h"

namespace tessera {

// The generator of one node. Thread-safe.
class RandomState final : public Resource {
 public:
  explicit RandomState(const Philox& generator) : generator_(generator) {}

  // Returns the state of the node `name`, which then belongs to the caller until Release(). Nodes
  // of one name, in several functions, have states of their own. It starts with `generator`, unless
  // WriteRandomStates() has set it.
  static absl::StatusOr<IntrusivePtr<RandomState>> Take(ResourceManager& resources,
                                                        const std::string& name,
                                                        const Philox& generator);
  void Release();

  // The generator as it stands; the next call gets one that is `blocks` further on.
  Philox Reserve(uint64_t blocks);
  Philox Get() const;
  // The generator from now on, also for whom takes the state next.
  void Restore(const Philox& generator);
  std::string DebugString() const override { return "state of a random op"; }

 private:
  bool TryTake(const Philox& generator);

  mutable absl::Mutex mu_;
  Philox generator_ ABSL_GUARDED_BY(mu_);
  bool is_taken_ ABSL_GUARDED_BY(mu_) = false;
  bool is_restored_ ABSL_GUARDED_BY(mu_) = false;  // since it was taken last
};

// All states of a session.
struct RandomStates {
  Tensor names;       // string[n], sorted
  Tensor generators;  // uint64[n, 3]: key, lower and upper half of the counter
};
// Returns the states of all random ops, in host memory of `allocator`. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<RandomStates> ReadRandomStates(const ResourceManager& resources,
                                              Allocator* allocator);
// Sets the states, of nodes that have run and of those that have not. Errors: INVALID_ARGUMENT for
// tensors of another form.
absl::Status WriteRandomStates(const RandomStates& states, ResourceManager& resources);

}  // namespace tessera
