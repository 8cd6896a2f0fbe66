#include "runtime/kernels/cpu/packed_weights.h"

#include "runtime/base/mapping_guard.h"
#include "runtime/kernels/cpu/onednn.h"

namespace tessera {

using dnnl::memory;

namespace {

// Lets go of the pages of weights that runs read in another form from now on.
void PageOut(const Tensor& weights) { ReleaseMappedPages({weights.raw(), weights.total_bytes()}); }

}  // namespace

void PackedWeights::Follow(const Tensor& weights) {
  if (source_data_ == weights.raw()) return;
  packed_.clear();
  derived_.clear();
  panels_from_.store(nullptr, std::memory_order_relaxed);
  source_ = weights.buffer();
  source_data_ = weights.raw();
}

memory PackedWeights::Get(const Tensor& weights, const memory::desc& plain,
                          const memory::desc& wanted) {
  memory given(plain, onednn::Engine(), const_cast<char*>(weights.raw()));
  if (plain == wanted) return given;
  absl::MutexLock lock(&mu_);
  Follow(weights);
  for (const memory& packed : packed_) {
    if (packed.get_desc() == wanted) return packed;
  }
  memory packed(wanted, onednn::Engine());
  dnnl::reorder(given, packed).execute(onednn::Stream(), given, packed);
  onednn::Stream().wait();
  PageOut(weights);
  if (packed_.size() == kMaxLayouts) packed_.erase(packed_.begin());
  packed_.push_back(packed);
  return packed;
}

Tensor PackedWeights::Derived(const Tensor& weights, WeightsForm form,
                              absl::FunctionRef<Tensor()> make) {
  absl::MutexLock lock(&mu_);
  Follow(weights);
  Tensor& derived = derived_[form];
  if (!derived.has_value()) {
    derived = make();
    if (derived.has_value() && derived.num_elements() > 0) {
      packed_.clear();
      if (form == WeightsForm::kPanels) {
        panels_from_.store(weights.raw(), std::memory_order_relaxed);
      }
      PageOut(weights);
    }
  }
  return derived;
}

}  // namespace tessera
