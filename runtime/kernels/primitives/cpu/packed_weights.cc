#include "runtime/kernels/primitives/cpu/packed_weights.h"

#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/kernels/primitives/cpu/onednn.h"

namespace tessera {

using dnnl::memory;

namespace {

// Releases the resident pages of weights that runs read in packed form from now on.
void PageOut(const Tensor& weights) { ReleaseMappedPages({weights.raw(), weights.total_bytes()}); }

}  // namespace

void PackedWeights::Follow(const ScaledWeights& weights) {
  const char* const scale = weights.scale == nullptr ? nullptr : weights.scale->raw();
  if (source_.raw() == weights.values.raw() && source_.shape() == weights.values.shape() &&
      scale_.raw() == scale) {
    return;
  }
  packed_.clear();
  derived_.clear();
  panels_from_.store(nullptr, std::memory_order_relaxed);
  source_ = weights.values;
  scale_ = weights.scale == nullptr ? Tensor() : *weights.scale;
}

absl::StatusOr<memory> PackedWeights::Get(KernelContext& ctx, const ScaledWeights& weights,
                                          const memory::desc& plain, const memory::desc& wanted) {
  const auto view = [&](const Tensor& values) {
    return memory(plain, onednn::Engine(), const_cast<char*>(values.raw()));
  };
  if (plain == wanted && weights.scale == nullptr) return view(weights.values);
  absl::MutexLock lock(&mu_);
  Follow(weights);
  for (const memory& packed : packed_) {
    if (packed.get_desc() == wanted) return packed;
  }
  memory packed(wanted, onednn::Engine());
  ASSIGN_OR_RETURN(const Tensor values, Multiply(ctx, weights, ctx.host_allocator()));
  memory given = view(values);
  dnnl::reorder(given, packed).execute(onednn::Stream(), given, packed);
  onednn::Stream().wait();
  PageOut(weights.values);
  if (packed_.size() == kMaxLayouts) packed_.erase(packed_.begin());
  packed_.push_back(packed);
  return packed;
}

absl::StatusOr<Tensor> PackedWeights::Derived(
    KernelContext& ctx, const ScaledWeights& weights, PackedFormat form,
    absl::FunctionRef<absl::StatusOr<Tensor>(const float* values)> make) {
  absl::MutexLock lock(&mu_);
  Follow(weights);
  Tensor& derived = derived_[form];
  if (derived.has_value()) return derived;
  ASSIGN_OR_RETURN(const Tensor values, Multiply(ctx, weights, ctx.host_allocator()));
  ASSIGN_OR_RETURN(derived, make(values.data<float>()));
  if (derived.num_elements() == 0) return derived;
  packed_.clear();
  if (form == PackedFormat::kPanels) {
    panels_from_.store(weights.values.raw(), std::memory_order_relaxed);
  }
  PageOut(weights.values);
  return derived;
}

}  // namespace tessera
