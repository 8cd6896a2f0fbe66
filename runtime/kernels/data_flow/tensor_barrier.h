// Barriers, which collect the components of elements by key.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/data_flow/blocking_resource.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// An element is incomplete until each of its components was inserted, and is ready then. Ready
// elements are taken in the order in which their keys first came. A closed barrier takes no new
// keys. Thread-safe.
class TensorBarrier : public BlockingResource {
 public:
  static constexpr absl::string_view kTypeName = "barrier";

  struct Options {
    std::string name;                  // for messages
    std::vector<DType> dtypes;         // of the components
    std::vector<PartialShape> shapes;  // of the components, fully known
    Allocator* allocator = nullptr;    // of host memory for batches; must outlive them
  };
  // The elements that one call takes.
  struct Batch {
    Tensor indices;  // int64[n]: when the key came, counted from the lowest int64
    Tensor keys;     // string[n]
    std::vector<Tensor> values;
  };
  explicit TensorBarrier(Options options)
      : BlockingResource({Order::kFirstInFirstOut}), options_(std::move(options)) {}
  const Options& options() const { return options_; }

  // Sets one component of the elements `keys`; row i of `values` belongs to keys[i].
  // Errors: INVALID_ARGUMENT for values that do not fit, or a component that an element has;
  // CANCELLED for a new key of a closed barrier. Keys before the one that fails are inserted.
  absl::Status Insert(int64_t component, const Tensor& keys, const Tensor& values);
  // Takes `count` ready elements once there are so many. With `allow_small_batch`, a closed barrier
  // gives those that are ready, but at least one. Ends with OUT_OF_RANGE if it is closed and will
  // not have them.
  void Take(int64_t count, bool allow_small_batch, CancellationManager* cancellation, Batch* batch,
            Done done);
  // With `cancel_pending`, incomplete elements are dropped, too, also of one that is closed.
  // Errors: CANCELLED if all of that was done before.
  absl::Status Close(bool cancel_pending);

  int32_t NumReady() const;
  int32_t NumIncomplete() const;
  std::string DebugString() const override;

 private:
  struct Element {
    int64_t index;
    std::string key;
    std::vector<Tensor> components;  // without a value while it is missing
    size_t num_missing;
  };

  absl::Status InsertOne(int64_t component, const std::string& key, Tensor value, bool* is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeReady(int64_t count, Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  absl::flat_hash_map<std::string, Element> incomplete_ ABSL_GUARDED_BY(mu_);
  std::multimap<int64_t, Element> ready_ ABSL_GUARDED_BY(mu_);  // by index
  int64_t next_index_ ABSL_GUARDED_BY(mu_) = std::numeric_limits<int64_t>::min();
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera
