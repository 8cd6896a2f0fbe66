// Accumulators of gradients, from which one step takes what several others have added.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/data_flow/blocking_resource.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The base of the accumulators of dense and of sparse gradients: a counter, and the number of the
// step, which a gradient must not be older than. Thread-safe.
class GradientAccumulator : public BlockingResource {
 public:
  static constexpr absl::string_view kTypeName = "accumulator";

  struct Options {
    std::string name;  // for messages
    DType dtype = DType::kInvalid;
    PartialShape shape;
    bool is_mean = true;             // else a sum
    Allocator* allocator = nullptr;  // of host memory for the gradients; must outlive them
  };

  const Options& options() const { return options_; }
  void SetGlobalStep(int64_t step);
  // Gradients since the last one was taken.
  int32_t NumAccumulated() const;
  std::string DebugString() const override;

 protected:
  explicit GradientAccumulator(Options options)
      : BlockingResource({Order::kFirstInFirstOut}), options_(std::move(options)) {}

  // Calls `add` with the lock held, unless the gradient is older than the accumulator's step: then
  // it is dropped, and that is no error.
  absl::Status Add(int64_t local_step, absl::FunctionRef<absl::Status()> add);
  // Once there are `num_required` gradients, calls `take` with the lock held and starts anew with
  // the next step. Errors: INVALID_ARGUMENT unless `num_required` is positive; those of `take`.
  void TakeWhenReady(int64_t num_required, CancellationManager* cancellation,
                     std::function<absl::Status()> take, Done done);

  const Options options_;
  int32_t count_ ABSL_GUARDED_BY(mu_) = 0;

 private:
  int64_t global_step_ ABSL_GUARDED_BY(mu_) = 0;
};

// Gradients of one shape.
class DenseAccumulator : public GradientAccumulator {
 public:
  explicit DenseAccumulator(Options options) : GradientAccumulator(std::move(options)) {}

  // Errors: INVALID_ARGUMENT for another dtype or shape.
  absl::Status Apply(int64_t local_step, const Tensor& gradient);
  // Sets *result to the mean or the sum of the gradients.
  void Take(int64_t num_required, CancellationManager* cancellation, Tensor* result, Done done);

 private:
  Tensor sum_ ABSL_GUARDED_BY(mu_);  // without a value while there are no gradients
};

// A gradient that has some rows of a tensor. A dimension of `shape` that is not known is -1.
struct SparseGradient {
  Tensor indices;  // int64[n]
  Tensor values;   // [n, ...]
  Tensor shape;    // int64[rank]
};

// Sparse gradients. A row that several of them have is summed; its mean is over these alone.
class SparseAccumulator : public GradientAccumulator {
 public:
  explicit SparseAccumulator(Options options) : GradientAccumulator(std::move(options)) {}

  // `has_known_shape`: gradient.shape says something. Errors: INVALID_ARGUMENT for indices, values
  // and a shape that do not fit each other, what was added before, or the accumulator.
  absl::Status Apply(int64_t local_step, const SparseGradient& gradient, bool has_known_shape);
  void Take(int64_t num_required, CancellationManager* cancellation, SparseGradient* result,
            Done done);

 private:
  absl::Status Check(const SparseGradient& gradient, bool has_known_shape) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Merges rows as TensorFlow does: both lists are taken to be in ascending order, and where they
  // are not, a row may stand there several times.
  absl::Status Merge(const SparseGradient& gradient) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeResult(SparseGradient* result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<int64_t> indices_ ABSL_GUARDED_BY(mu_);
  std::vector<int32_t> counts_ ABSL_GUARDED_BY(mu_);  // gradients that have each row
  Tensor values_ ABSL_GUARDED_BY(mu_);  // without a value while there are no gradients
};

}  // namespace tessera
