// Constant weights in packed formats.
#pragma once

#include <atomic>
#include <map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/primitives/cpu/scaled_weights.h"

namespace tessera {

// Formats that are not made by oneDNN's reorder.
enum class PackedFormat { kPanels, kSeparable, kWinograd2, kWinograd4 };

// Keeps the packed formats of one weights tensor between runs. A kernel has one object of this
// class for an input that usually stays the same. Weights other than those of the last call are
// packed anew, so results are always right and only speed depends on the weights being constant.
// After packing, the pages of the original weights leave resident memory, but not the page cache.
// Scaled weights are multiplied while they are packed; the scaled values are kept in no other
// format.
//
// Thread-safe. A call that arrives while another one packs waits for it.
class PackedWeights {
 public:
  // Returns true if `weights` are those of the previous call. Weights that come a second time are
  // probably constant and worth packing.
  bool IsSeenAgain(const Tensor& weights) {
    return last_seen_.exchange(weights.raw(), std::memory_order_relaxed) == weights.raw();
  }

  // Returns true for the first weights, and for those of the previous call.
  bool MayBeConstant(const Tensor& weights) {
    const char* const before = last_seen_.exchange(weights.raw(), std::memory_order_relaxed);
    return before == nullptr || before == weights.raw();
  }

  // Returns `weights`, whose layout is `plain`, in the layout `wanted`: a view if the two are equal
  // and there is no scale. The result stays valid for as long as it is held. Errors:
  // RESOURCE_EXHAUSTED. Throws dnnl::error.
  absl::StatusOr<dnnl::memory> Get(KernelContext& ctx, const ScaledWeights& weights,
                                   const dnnl::memory::desc& plain,
                                   const dnnl::memory::desc& wanted);

  // Returns the format that `make` derives from the scaled weights; it replaces oneDNN's layouts.
  // Each format is kept, because the batch size decides which is best. `values` need not outlive
  // the call. Errors: RESOURCE_EXHAUSTED; those of `make`.
  absl::StatusOr<Tensor> Derived(
      KernelContext& ctx, const ScaledWeights& weights, PackedFormat form,
      absl::FunctionRef<absl::StatusOr<Tensor>(const float* values)> make);
  // True if there are panels of these weights, which need no more memory.
  bool HasPackedPanels(const Tensor& weights) const {
    return panels_from_.load(std::memory_order_relaxed) == weights.raw();
  }

 private:
  // Layouts depend on the batch size and on the number of threads. More than a few are not worth
  // their memory.
  static constexpr size_t kMaxLayouts = 3;

  // Drops everything unless it was made from `weights`.
  void Follow(const ScaledWeights& weights) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Compared, never dereferenced.
  std::atomic<const char*> last_seen_{nullptr}, panels_from_{nullptr};
  absl::Mutex mu_;
  // Holding the tensors keeps their addresses from being reused, and their contents from being
  // written in place.
  Tensor source_ ABSL_GUARDED_BY(mu_), scale_ ABSL_GUARDED_BY(mu_);
  std::vector<dnnl::memory> packed_ ABSL_GUARDED_BY(mu_);
  std::map<PackedFormat, Tensor> derived_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
