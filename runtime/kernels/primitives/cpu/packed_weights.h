// Constant weights in the memory layouts that oneDNN's primitives ask for.
#pragma once

#include <atomic>
#include <map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/primitives/cpu/scaled_weights.h"

namespace tessera {

// Forms of weights that are made by other means than oneDNN's reordering.
enum class WeightsForm { kPanels, kSeparable, kWinograd2, kWinograd4 };

// Keeps packed forms of one weights tensor from one run to the next: a kernel has one of these for
// an input that stays the same. Other weights than those of the last call are packed anew, so that
// results are right whatever comes; only speed depends on the promise. Once packed, the pages that
// the weights were read from leave resident memory, not the page cache. Weights that are scaled are
// multiplied while they are packed; their products are not kept in any other form.
//
// Thread-safe. Calls that come while another one packs wait for it, rather than pack as well.
class PackedWeights {
 public:
  // True if `weights` are those of the call before: what comes a second time is probably constant,
  // and worth packing. What is computed anew in each run, though many read it, is not.
  bool IsSeenAgain(const Tensor& weights) {
    return last_seen_.exchange(weights.raw(), std::memory_order_relaxed) == weights.raw();
  }

  // True for weights that may well be constant: the first ones, and those of the call before.
  bool MayBeConstant(const Tensor& weights) {
    const char* const before = last_seen_.exchange(weights.raw(), std::memory_order_relaxed);
    return before == nullptr || before == weights.raw();
  }

  // `weights`, which lie as `plain` says, in layout `wanted`: a view of them if the two are equal
  // and nothing scales them. What is returned stays valid for as long as it is held.
  // Errors: RESOURCE_EXHAUSTED. Throws dnnl::error.
  absl::StatusOr<dnnl::memory> Get(KernelContext& ctx, const ScaledWeights& weights,
                                   const dnnl::memory::desc& plain,
                                   const dnnl::memory::desc& wanted);

  // The same for a form that `make` derives, which takes the place of oneDNN's layouts. Each form
  // is kept: which is best depends on how many images come at once. `values` are the weights,
  // scaled; they may be gone afterwards. Errors: RESOURCE_EXHAUSTED; those of `make`.
  absl::StatusOr<Tensor> Derived(
      KernelContext& ctx, const ScaledWeights& weights, WeightsForm form,
      absl::FunctionRef<absl::StatusOr<Tensor>(const float* values)> make);
  // True if there are panels of these, which to use takes no more memory.
  bool HasPanels(const Tensor& weights) const {
    return panels_from_.load(std::memory_order_relaxed) == weights.raw();
  }

 private:
  // Layouts depend on batch size and threads; more than a few are not worth their memory.
  static constexpr size_t kMaxLayouts = 3;

  // Forgets everything unless it was made of `weights`.
  void Follow(const ScaledWeights& weights) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Compared, never followed.
  std::atomic<const char*> last_seen_{nullptr}, panels_from_{nullptr};
  absl::Mutex mu_;
  // Holding the tensors keeps their addresses from being given to others, and their contents from
  // being written in place.
  Tensor source_ ABSL_GUARDED_BY(mu_), scale_ ABSL_GUARDED_BY(mu_);
  std::vector<dnnl::memory> packed_ ABSL_GUARDED_BY(mu_);
  std::map<WeightsForm, Tensor> derived_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
