// The packed formats of the weights of a product.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "runtime/kernels/primitives/cpu/scaled_weights.h"

namespace tessera {

// A format in which weights are packed.
struct PackedFormat {
  enum class Kind { kPlain, kOneDnn, kPanels, kBalancedPanels, kSeparable, kWinograd2, kWinograd4 };

  Kind kind = Kind::kOneDnn;
  std::string layout;  // distinguishes the layouts of kOneDnn

  friend bool operator==(const PackedFormat&, const PackedFormat&) = default;
};

// Packs the weights of one kernel's product once, and keeps the packed formats between runs.
//
//   explicit MatMulKernel(const KernelBuild& build) : weights_(build, 1) {}
//   ...
//   PackedWeights* packed = weights_.UseFor(ctx);              // in Compute()
//   ...
//   if (packed != nullptr) packed->Get(ctx, weights, {.kind = kPanels}, pack);
//
// Constant weights are packed by OpKernel::Prepare(), in a format that all runs need, or by the
// first run that needs a format. Other weights may still be the same many times in a run: a loop
// passes them unchanged from one iteration to the next. They are packed once the same tensor has
// come several times in succession in one run, and used packed as long as they come. How often
// others came in runs before does not count, because the algorithms of a run, and with them its
// last bits, must not depend on it: a training run, which changes its weights, computes when it is
// resumed what it would have. This object then shares their buffer. As long as it does, nobody
// writes to the buffer, which kernels do only to buffers that they hold alone, and no other tensor
// can lie at its address. So a packed format always belongs to the weights that it is returned for.
//
// After packing, the pages of the original weights leave resident memory, but not the page cache.
// Scaled weights are multiplied while they are packed; the scaled values are kept in no other
// format.
//
// Thread-safe. A call that arrives while another one packs waits for it.
class PackedWeights {
 public:
  // For weights that are not an input of the kernel.
  PackedWeights() = default;
  // For the weights at input `input` of the kernel.
  PackedWeights(const KernelBuild& build, int input);

  // The weights, if they were known to be constant when the kernel was built; otherwise null.
  const Tensor* constant() const { return constant_.has_value() ? &constant_ : nullptr; }

  // Returns this if it pays to pack the weights of this run, otherwise null: they are constant, or
  // have come several times, as described above. With strict numerics only constant weights are
  // packed, because another run must not choose another algorithm.
  PackedWeights* UseFor(const KernelContext& ctx) { return UseFor(ctx, ctx.input(input_)); }
  // Does the same for weights that the kernel derives from the input. Weights in a buffer of their
  // own are not constant.
  PackedWeights* UseFor(const KernelContext& ctx, const Tensor& weights);

  // Returns the packed format of `weights`, which `pack` creates from the scaled values if there is
  // none yet. `values` need not outlive the call. Errors: RESOURCE_EXHAUSTED; those of `pack`.
  absl::StatusOr<Tensor> Get(KernelContext& ctx, const ScaledWeights& weights,
                             const PackedFormat& format,
                             absl::FunctionRef<absl::StatusOr<Tensor>(const Tensor& values)> pack);

  // Returns a packed format that is created from another format, and not from the values.
  absl::StatusOr<Tensor> GetDerived(const ScaledWeights& weights, const PackedFormat& format,
                                    absl::FunctionRef<absl::StatusOr<Tensor>()> derive);

  // True if there are packed panels of these weights, so that using them takes no more memory.
  bool HasPanels(const Tensor& weights) const {
    return panels_from_.load(std::memory_order_relaxed) == weights.raw();
  }

 private:
  struct Entry {
    PackedFormat format;
    Tensor packed;
  };

  // Drops all formats and takes a share of `weights`, unless it is held already.
  void Hold(const ScaledWeights& weights) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the packed tensor of a format, or null.
  const Tensor* Find(const PackedFormat& format) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Insert(Entry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int input_ = 0;
  const Numerics numerics_ = Numerics::kFast;
  const Tensor constant_{};  // without a value if it is not known
  // How often the last weights came in succession, and how often weights must come to be packed.
  // Both are of the last run. Weights are compared by address, which is a reason to pack, and never
  // one to use a format, but for those that are held.
  std::atomic<const char*> last_seen_{nullptr}, held_{nullptr}, panels_from_{nullptr};
  std::atomic<int64_t> last_step_{-1};
  std::atomic<bool> holds_of_this_step_{false};
  std::atomic<int> times_seen_{0}, times_needed_{0};
  absl::Mutex mu_;
  Tensor values_ ABSL_GUARDED_BY(mu_), scale_ ABSL_GUARDED_BY(mu_);
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
